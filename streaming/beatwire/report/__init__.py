"""The report of a recording: one HTML file that needs no network."""
