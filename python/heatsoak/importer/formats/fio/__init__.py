"""fio: the logs of its jobs, its JSON, and one run put together of both.

`json` reads documents and the terse output, of which `counters` makes rows; `log` and `hist` read
logs, of whose `parts` samples are made on common times. `run` joins the files of one run.
"""
