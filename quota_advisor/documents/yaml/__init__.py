"""YAML and JSON as trees in which every value knows its place."""
