"""The formats, and what the name of a file says about them."""

from enum import StrEnum
from pathlib import Path

from heatsoak.errors import UsageError


class ExportFormat(StrEnum):
    """A format to export to."""

    CSV = "csv"
    PARQUET = "parquet"
    FIO_PLOT = "fio-plot"
    OPENMETRICS = "openmetrics"


#: What each kind's files are called where a directory of them is written.
SUFFIXES = {
    ExportFormat.CSV: ".csv",
    ExportFormat.PARQUET: ".parquet",
    ExportFormat.OPENMETRICS: ".om",
}
_BY_SUFFIX = {".csv": ExportFormat.CSV, ".parquet": ExportFormat.PARQUET}
STANDARD_OUTPUT = "-"


def kind_of(to: str) -> ExportFormat:
    """Return what the suffix of `to` says; raises UsageError where it does not say."""
    kind = _BY_SUFFIX.get(Path(to).suffix.lower())
    if kind is None:
        raise UsageError(f"-o {to}: does not tell the format: add --as {', '.join(ExportFormat)}")
    return kind


def is_directory(to: str, kind: ExportFormat) -> bool:
    """Whether `to` takes one file a recording, and not one file of all.

    So it is where it is a directory already, ends in a slash, or has no suffix and is not there.
    """
    if to == STANDARD_OUTPUT:
        return False
    path = Path(to)
    if kind is ExportFormat.FIO_PLOT or to.endswith("/") or path.is_dir():
        return True
    return not path.suffix and not path.exists()
