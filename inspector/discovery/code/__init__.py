"""Code mode: typed stubs, a sandbox, and the broker between a script and real servers. See docs/code-mode.md."""
