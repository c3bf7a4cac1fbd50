"""Sending recorded requests again, comparing what comes, and serving a trace in a server's place."""
