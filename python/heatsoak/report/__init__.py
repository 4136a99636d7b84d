"""Findings as reports: tables for the terminal, and files."""
