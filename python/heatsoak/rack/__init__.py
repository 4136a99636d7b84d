"""Racks: one protocol on many drives of many hosts, each test once, and what came out.

What came out: `reading` judges what tests left, `measures` are what is compared of it, `effects`
tells places from drives from repeated runs, `outliers` finds drives unlike others of their model,
`report` says who passes.
"""
