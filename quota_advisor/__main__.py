"""Run the command line as ``python -m quota_advisor``."""

from quota_advisor.cli import main

if __name__ == "__main__":
    main()
