"""Runs every benchmark in one go and prints figures and ratios: ``make bench``."""

import platform

import comparison
import engine
import history
import importing
import judging
import matrix
import measuring
import page
import segmentation
import segments
import starting
import steadiness
import watching


def main() -> None:
    print(f"{platform.platform()}, Python {platform.python_version()}\n")
    benches = (
        starting,
        engine,
        segmentation,
        segments,
        judging,
        steadiness,
        comparison,
        importing,
        matrix,
        page,
        measuring,
        watching,
        history,
    )
    for bench in benches:
        print(f"## {bench.__name__}")
        bench.main()
        print()


if __name__ == "__main__":
    main()
