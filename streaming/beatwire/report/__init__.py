"""The report of a recording: one HTML file that needs no network; ``write.write_report`` writes it."""
