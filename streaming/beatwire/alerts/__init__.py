"""What the alert rules are: one table, and what follows from it. It imports nothing that takes time to load."""
