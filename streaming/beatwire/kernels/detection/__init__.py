"""Detection: from the samples of a ring to peaks, beats and their windows."""
