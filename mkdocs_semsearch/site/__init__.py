"""Indexes a site in one call, and adds the search to the built site.

`pipeline` indexes pages, `built_site` indexes a site that a generator has built, `publishing` adds the index and the
search without a server to the site, and `widget_files` adds the search box.
"""
