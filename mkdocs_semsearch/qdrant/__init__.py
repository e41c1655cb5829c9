"""An index whose chunks are in a Qdrant cluster: one folder, loaded only when an index names such a store."""
