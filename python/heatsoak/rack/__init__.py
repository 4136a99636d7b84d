"""Racks: one protocol on many drives of many hosts, each test once, and what came out.

What came out: `measures` makes a row of each judged step, `effects` tells places from drives from
repeated runs, `outliers` finds drives unlike others of their model, `report` says who passes.
"""
