"""Reports as one HTML file that needs nothing else: a page, its plots, and what is put into it."""
