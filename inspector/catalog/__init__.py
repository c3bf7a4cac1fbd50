"""What servers list, as values: snapshots, bytes, tokens, renderings, forms."""
