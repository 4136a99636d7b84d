"""Runs every benchmark in one go and prints figures and ratios: ``make bench``."""

import platform

import comparison
import engine
import importing
import matrix
import measuring
import segmentation


def main() -> None:
    print(f"{platform.platform()}, Python {platform.python_version()}\n")
    for bench in (engine, segmentation, comparison, importing, matrix, measuring):
        print(f"## {bench.__name__}")
        bench.main()
        print()


if __name__ == "__main__":
    main()
