"""``python -m heatsoak_dev.elsewhere make DIR --count N --seed S``."""

import argparse
from pathlib import Path

from heatsoak_dev.elsewhere.case import make


def main() -> None:
    """Write cases, a directory each."""
    arguments = argparse.ArgumentParser(description="Labelled logs of a world of its own.")
    commands = arguments.add_subparsers(required=True)
    command = commands.add_parser("make", help="write cases, a directory each, with truth.json")
    command.add_argument("directory", type=Path)
    command.add_argument("--count", type=int, default=100)
    command.add_argument(
        "--seed", type=int, default=0, help="of the first; below 10000: development"
    )
    given = arguments.parse_args()
    for seed in range(given.seed, given.seed + given.count):
        make(seed, given.directory / f"{seed:06d}")


main()
