"""Search without a server: writes files that the browser searches, and implements the same search in Python."""
