"""Archives: thousands of recordings to Parquet, by Dask; start at ``beatwire.archives.run``."""
