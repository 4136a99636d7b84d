"""``python -m heatsoak``."""

from heatsoak.cli import main

main()
