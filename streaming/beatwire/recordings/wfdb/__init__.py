"""Reader of WFDB records: headers, signal files, records of segments, and records in memory."""
