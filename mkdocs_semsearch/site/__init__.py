"""The build side in one call: pages in, index folder and the search of the site out.

`pipeline` indexes pages, `built_site` a site that some generator has built, `publishing` puts the index and the search
without a server into the site, `widget_files` the search box.
"""
