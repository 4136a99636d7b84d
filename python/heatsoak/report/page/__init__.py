"""The page: one file that shows what recordings are worth, and the answer before one scrolls.

`lines` (over `tracks`, `latency`), `cells`, `bars`, `curves`, `compared`, `facts` and `headline`
make what stands on it; `fitting`, `thinning` and `packing` make its series small; `html` puts it
into a file. What it shows is drawn by `web/`, which reads `contract`.
"""
