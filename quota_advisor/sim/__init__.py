"""The arithmetic of bandwidth control: what a quota does, and what it should be."""
