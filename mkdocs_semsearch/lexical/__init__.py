"""Words: how text becomes terms, the weights of fields and clauses, and BM25, for all that index or search."""
