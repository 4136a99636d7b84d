"""Protocols that take seconds."""

READ = """
schema = 1
name = "tiny"
file_size = "64MiB"
[[steps]]
name = "read"
rw = "read"
bs = "128k"
runtime = "2s"
"""
WRITE = """
schema = 1
name = "tiny"
[[steps]]
name = "write"
rw = "write"
bs = "128k"
span = "64MiB"
runtime = "5s"
"""
