"""Indexes a site in one call, and adds the search to the built site.

`pipeline` indexes pages, `built_site` a site that some generator has built, `publishing` puts the index and the search
without a server into the site, `widget_files` the search box.
"""
