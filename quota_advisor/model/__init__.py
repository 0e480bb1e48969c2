"""What was observed and what was concluded; no judgement, no input or output."""
