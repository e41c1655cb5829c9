"""Markdown sources: front matter, headings, code fences, and where in them a chunk stands."""
