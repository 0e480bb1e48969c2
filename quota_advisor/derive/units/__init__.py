"""What rules about unit files and quadlets look at."""
