"""The alert rules: one table, and what follows from it."""
