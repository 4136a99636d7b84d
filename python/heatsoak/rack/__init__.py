"""A rack of drives under one protocol: which are worse than others of their model, and why.

`measures` makes a row of each judged step, `effects` tells places from drives from repeated runs,
`outliers` finds drives unlike others of their model, `compared` puts it together with who passed.
"""
