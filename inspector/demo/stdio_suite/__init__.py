"""Stdio servers that judge the client which starts them (docs/conformance.md); each a process of its own."""
