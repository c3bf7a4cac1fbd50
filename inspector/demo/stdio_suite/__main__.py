"""`python -m inspector.demo.stdio_suite SCENARIO FOLDER`; the process's main thread."""

from __future__ import annotations

import sys

from inspector.demo.stdio_suite.server import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
