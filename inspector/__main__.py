"""`python -m inspector`: the same as `mcp-loupe`."""

from inspector.cli import main

if __name__ == "__main__":
    main()
