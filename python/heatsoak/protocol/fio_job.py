from pathlib import Path
from heatsoak.protocol.model import Protocol


def parse_job_file(path: Path) -> Protocol: ...


PASSED_ON: frozenset[str] = frozenset({"thinktime"})
