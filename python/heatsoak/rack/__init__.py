"""Racks: one protocol on many drives of many hosts, each test once, and what came out."""
