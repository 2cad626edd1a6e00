"""What an analysis found: tables, files, quality, summary."""
