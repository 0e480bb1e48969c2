"""Recordings of CPU use: what is in such a file, how it is written, how it is read."""
