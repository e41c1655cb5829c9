"""Text analysis and BM25: turns text into terms, and weights fields and clauses, for indexing and searching alike."""
