"""fio: the logs of its jobs, its JSON, and one run put together of both.

`log` and `hist` read logs, whose `parts` become samples on common times; `json` and its kin read
documents. `run` makes one log of the files of one run.
"""
