"""Files that we write, and small files that steer us: links, sizes and halves of files.

``places`` finds the directory of a file to be written, ``writing`` replaces the file in one step,
``reading`` reads a file that is as small as it should be. docs/security.md says what is promised.
"""
