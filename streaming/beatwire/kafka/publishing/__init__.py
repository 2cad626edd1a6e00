"""Transactions of the monitor, and senders of samples."""
