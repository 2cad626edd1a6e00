"""Intake: messages become samples of streams, in order and in their rings."""
