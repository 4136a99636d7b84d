"""``heatsoak corpus``: labelled recordings to test a detector with (for developers)."""

from pathlib import Path
from typing import Annotated

import typer
from heatsoak.cli.common import FormatOption, console, progress_bar
from heatsoak.errors import ToolError, UsageError
from heatsoak.output import print_json


def corpus_command(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Output directory; must be new or empty.")
    ],
    count: Annotated[int, typer.Option(min=1, help="Number of cases.")] = 20,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Use the seeds held out from development.")
    ] = False,
    output_format: FormatOption = "text",
) -> None:
    """Write recordings of simulated drives with known throughput drops and causes."""
    # these take a while to load, and every command loads this module
    from heatsoak_dev.corpus import DEVELOPMENT, HELD_OUT, make
    from heatsoak_dev.corpus.labels import save

    seeds = HELD_OUT if held_out else DEVELOPMENT
    if count > len(seeds):
        raise UsageError(f"--count {count}: at most {len(seeds)} cases of that kind exist")
    if output.is_file() or (output.is_dir() and any(output.iterdir())):
        raise UsageError(f"{output}: is not empty: name a new directory with -o")
    rows = []
    total = 0
    with progress_bar() as show:
        for number, seed in enumerate(seeds[:count]):
            show(number / count, f"case {number + 1} of {count}")
            labelled = make(seed)
            directory = output / f"{seed:07d}"
            try:
                save(labelled, directory)
            except OSError as error:
                raise ToolError(f"{directory}: cannot be written: {error.strerror}") from error
            total += len(labelled.recordings)
            rows.append(
                {
                    "path": str(directory),
                    "seed": seed,
                    "recordings": len(labelled.recordings),
                    "episodes": len(labelled.truth),
                    "verdicts": list(dict.fromkeys(labelled.verdicts.values())),
                }
            )
        show(1.0, f"{count} cases")
    if output_format == "json":
        print_json(rows)
        return
    console().print(
        f"wrote {count} cases with {total} recordings to {output}: one directory per case, with "
        "numbered recordings and truth.json"
    )
