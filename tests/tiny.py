"""Protocols that take seconds, a job of fio's, and a trace."""

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
BOTH = """
schema = 1
name = "tiny"
file_size = "64MiB"
[[steps]]
name = "read"
rw = "read"
bs = "128k"
span = "64MiB"
runtime = "2s"
[[steps]]
kind = "pause"
duration = "1s"
[[steps]]
name = "write"
rw = "write"
bs = "128k"
span = "64MiB"
runtime = "2s"
"""
JOB = "[a]\nrw=randread\nbs=4k\nsize=64m\nruntime=2\ntime_based\nioengine=libaio\n"
IOLOG = "fio version 3 iolog\n0 /dev/x add\n0 /dev/x open\n1 /dev/x read 0 4096\n2 /dev/x write 4096 4096\n9 /dev/x close\n"  # noqa: E501
