"""YAML and JSON as trees in which every value knows its place.

- ``split`` cuts a file into documents and tells which can hold anything of interest.
- ``native_tree`` reads plain YAML and JSON, ``exact_tree`` all YAML, ``json_tree`` all JSON;
  ``tree`` is what they make, and how to look into it.
- ``suppressions`` are found in comments and annotations; ``written`` is the text behind a tree, for
  those who change it.
"""
