"""The export formats, and how they follow from file names."""

from enum import StrEnum
from pathlib import Path

from heatsoak.errors import UsageError


class ExportFormat(StrEnum):
    """A format to export to."""

    CSV = "csv"
    PARQUET = "parquet"
    FIO_PLOT = "fio-plot"
    OPENMETRICS = "openmetrics"


#: The suffix of each format's files in a directory.
SUFFIXES = {
    ExportFormat.CSV: ".csv",
    ExportFormat.PARQUET: ".parquet",
    ExportFormat.OPENMETRICS: ".om",
}
_BY_SUFFIX = {".csv": ExportFormat.CSV, ".parquet": ExportFormat.PARQUET}
STANDARD_OUTPUT = "-"


def kind_of(to: str) -> ExportFormat:
    """Return the format for the suffix of `to`; raises UsageError for an unknown suffix."""
    kind = _BY_SUFFIX.get(Path(to).suffix.lower())
    if kind is None:
        raise UsageError(
            f"-o {to}: the suffix does not say the format: add --as {', '.join(ExportFormat)}"
        )
    return kind


def is_directory(to: str, kind: ExportFormat) -> bool:
    """Whether `to` gets one file per recording instead of one for all.

    True if it is a directory, ends in a slash, or has no suffix and does not exist.
    """
    if to == STANDARD_OUTPUT:
        return False
    path = Path(to)
    if kind is ExportFormat.FIO_PLOT or to.endswith("/") or path.is_dir():
        return True
    return not path.suffix and not path.exists()
