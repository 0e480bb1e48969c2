"""Temporary cgroups and scopes: made, named, and removed in every exit path."""
