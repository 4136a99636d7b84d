"""Protocols that take seconds, a job of fio's, and a trace."""

READ = """
schema = 1
name = "tiny"
file_size = "64MiB"
steps = [{ name = "read", rw = "read", bs = "128k", runtime = "2s" }]
"""
WRITE = """
schema = 1
name = "tiny"
steps = [{ name = "write", rw = "write", bs = "128k", span = "64MiB", runtime = "5s" }]
"""
BOTH = """
schema = 1
name = "tiny"
file_size = "64MiB"
steps = [
  { name = "read", rw = "read", bs = "128k", span = "64MiB", runtime = "2s" },
  { kind = "pause", duration = "1s" },
  { name = "write", rw = "write", bs = "128k", span = "64MiB", runtime = "2s" },
]
"""
#: A matrix with heat, a precondition, a score, and a step that is long enough to be judged.
HEATED = """
schema = 1
name = "heated"
file_size = "1GiB"
steps = [
  { kind = "precondition", name = "fill", rw = "write", bs = "1m", span = "1GiB" },
  { name = "read", rw = "randrw", rwmixread = 70, bs = "128k", iodepth = 32, rate = "200MB", \
span = "1GiB", runtime = "4s" },
  { kind = "pause", duration = "2s" },
  { name = "write", rw = "randwrite", bs = "4k", iodepth = 32, span = "1GiB", runtime = "12s" },
]
[matrix]
enclosure = "puget-{slot}-1gpu-{load}"
exclude = [{ slot = "top", load = "idle" }]
[matrix.axes]
slot = ["top", "bottom"]
load = ["idle", "loaded"]
[[heat]]
source = "gpu"
when = { load = "loaded" }
warm_up = "30s"
[[scores]]
name = "Reads"
metric = "mb_s"
steps = ["read"]
definition = "Mean of the MB/s."
"""
JOB = "[a]\nrw=randread\nbs=4k\nsize=64m\nruntime=2\ntime_based\nioengine=libaio\n"
IOLOG = "fio version 3 iolog\n0 /dev/x add\n0 /dev/x open\n1 /dev/x read 0 4096\n2 /dev/x write 4096 4096\n9 /dev/x close\n"  # noqa: E501
