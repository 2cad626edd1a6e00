"""Scores: how unlike the normal beats of this person a beat is."""
