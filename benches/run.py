"""Runs every benchmark in one go and prints figures and ratios: ``make bench``."""

import platform

import engine
import importing
import judging
import matrix
import measuring
import segmentation


def main() -> None:
    print(f"{platform.platform()}, Python {platform.python_version()}\n")
    for bench in (engine, segmentation, importing, matrix, measuring, judging):
        print(f"## {bench.__name__}")
        bench.main()
        print()


if __name__ == "__main__":
    main()
