"""Archives: thousands of recordings to Parquet, by Dask."""
