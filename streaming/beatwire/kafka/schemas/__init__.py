"""Schemas of writers in a Schema Registry."""
