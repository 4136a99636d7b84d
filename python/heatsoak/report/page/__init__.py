"""The page: one file that shows the results of recordings, with the answer at the top.

`lines` (over `tracks`, `latency`), `cells`, `bars`, `curves`, `compared`, `facts` and `headline`
make its contents; `fitting`, `thinning` and `packing` make its series small; `html` puts it into a
file. `web/`, which reads `contract`, draws it.
"""
