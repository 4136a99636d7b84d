"""Where protocols come from: bundled ones by name, TOML files, native fio job files."""

from importlib.resources import files
from pathlib import Path

from heatsoak.errors import UsageError, suggestion
from heatsoak.files import require_file
from heatsoak.protocol.fio_job import parse_job_file
from heatsoak.protocol.model import Protocol
from heatsoak.protocol.workload import TO_BE_RUN
from heatsoak.toml import toml_tables, toml_text, validated

_BUNDLED = files("heatsoak.protocol") / "bundled"


def bundled() -> list[str]:
    """Return the names of the protocols that come with heatsoak."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in _BUNDLED.iterdir()
        if entry.name.endswith(".toml")
    )


def load(name: str) -> Protocol:
    """Return the bundled protocol `name`, or the one in the TOML or fio job file `name`.

    Raises UsageError with file and key for anything that is wrong.
    """
    if name in bundled():
        return parse_toml((_BUNDLED / f"{name}.toml").read_text("utf-8"), f"{name}.toml")
    path = Path(name)
    if not path.exists():
        if path.suffix or len(path.parts) > 1:
            raise UsageError(f"{name}: no such file")
        raise UsageError(
            f"there is no protocol '{name}'{suggestion(name, bundled())}: "
            f"bundled are {', '.join(bundled())}; a file's path works too"
        )
    require_file(path)
    if path.suffix in (".fio", ".job", ".ini"):
        return parse_job_file(path)
    return parse_toml(toml_text(name), name)


def parse_toml(text: str, name: str) -> Protocol:
    """Return the protocol in a TOML text; errors start with `name`."""
    return validated(Protocol, toml_tables(text, name), name, TO_BE_RUN)
