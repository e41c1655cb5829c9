"""HTML of a page in, headings and blocks out."""
