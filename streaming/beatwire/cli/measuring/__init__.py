"""Commands that measure and train."""
