"""`python -m onetag` is the command line."""

from onetag.cli import main

if __name__ == "__main__":
    main()
