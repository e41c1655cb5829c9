"""Searches an index: takes a query and returns ranked results."""
