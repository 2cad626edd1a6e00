"""Parts of stages: the directory of streams, placements, runs of events, design of filters."""
