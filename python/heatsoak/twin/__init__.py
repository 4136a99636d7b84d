"""Twins: models of one drive in its places, fitted to recordings of it.

Each module is loaded by whoever needs it: a prediction of a drive of the catalog needs no fits.
"""
