"""Which format a file has, by its content."""

from typing import TYPE_CHECKING

from heatsoak.errors import HeatsoakError, UsageError
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source, UnknownFormatError

if TYPE_CHECKING:
    from heatsoak.importer.formats.base import Format


def read(source: Source, options: Options | None = None) -> list[Log]:
    """Return a log for each run in `source`; raises UsageError for what no reader knows.

    A log without samples says in its remarks what a sibling of the same run may need of it.
    """
    options = options or Options()
    reader = detect(source)
    try:
        logs = reader.read(source, options)
    except HeatsoakError:
        raise
    except Exception as error:
        # whatever a file makes a reader do, whoever imports it gets one line that names it
        what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise source.error(
            f"heatsoak's reader of {reader.title} fails at it ({what}): a fault in heatsoak, which "
            "the file would help to mend"
        ) from error
    if not logs:
        raise source.error("holds no samples")
    remarks = tuple(source.remarks.values())
    return [log.with_remarks(*remarks) for log in logs]


def detect(source: Source) -> "Format":
    """Return the format of `source`; raises UnknownFormatError where no reader knows it."""
    # the readers take longer to load than recordings do to be opened, which need none of them
    from heatsoak.importer.formats import FORMATS

    if not source.head:
        raise source.error("is empty")
    refusal: UsageError | None = None
    for reader in FORMATS:
        try:
            if reader.recognises(source):
                return reader
        except UsageError as error:  # no text; another reader may know these bytes
            refusal = refusal or error
    if refusal is not None:
        raise UnknownFormatError(str(refusal))
    known = ", ".join(reader.title for reader in FORMATS if reader.is_read)
    raise UnknownFormatError(str(source.error(f"is in no format that can be imported: {known}")))
