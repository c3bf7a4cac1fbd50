"""Search over tool names, descriptions and parameters: by words, by pattern, by meaning, together. Any thread."""
