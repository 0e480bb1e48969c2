"""Which rules there are, how the user set them, and how they are run."""
