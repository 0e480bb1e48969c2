"""Rules about documents as texts: broken ones, and comments that leave findings out."""
