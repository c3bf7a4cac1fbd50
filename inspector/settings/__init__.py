"""Where things are kept, which servers are configured, and imports of other clients' config files."""
