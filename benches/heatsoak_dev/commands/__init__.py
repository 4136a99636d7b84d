"""The developers' commands, one module each."""
