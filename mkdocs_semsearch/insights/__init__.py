"""Records what readers search for, if enabled and without identifying them, and reports it to the authors."""
