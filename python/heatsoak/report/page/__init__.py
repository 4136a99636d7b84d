"""The page: one file that shows the results of recordings, with the answer at the top.

`make` puts it together: `lines` (over `tracks`) are the charts, how their lines look, and the rows
that say what they show, `bars` and `facts` what stands beside them, `twin` and `sweep` predictions.
`packing` makes series small, `html` puts all of it into one file.
`contract` defines what `web/` gets, which draws it.
"""
