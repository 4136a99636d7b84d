"""``heatsoak analyze``: judge recordings and other tools' logs."""

from heatsoak.analysis import analyze
from heatsoak.analysis.consistency import WINDOW_S
from heatsoak.cli.common import (
    DamagedOption,
    DeviceOption,
    EvidenceOption,
    FailBelowOption,
    FailOnOption,
    FormatOption,
    MapOption,
    OutputFormat,
    PowerOption,
    RecordingsArgument,
    SeparateOption,
    ShiftOption,
    WindowOption,
    exit_code,
    open_recordings,
    show_findings,
)


def analyze_command(
    paths: RecordingsArgument,
    mapping: MapOption = None,
    device: DeviceOption = None,
    shift_s: ShiftOption = None,
    separate: SeparateOption = False,
    damaged: DamagedOption = False,
    power: PowerOption = None,
    window_s: WindowOption = WINDOW_S,
    output_format: FormatOption = OutputFormat.TEXT,
    fail_on: FailOnOption = None,
    evidence: EvidenceOption = False,
    fail_below: FailBelowOption = None,
) -> int:
    opened = open_recordings(
        paths,
        mapping,
        device,
        shift_s,
        separate=separate,
        power=power,
        damaged=damaged,
        keeps_changed=True,
    )
    findings = analyze(opened.recordings, window_s)
    has_options = mapping or device or shift_s is not None or separate or power or damaged
    show_findings(
        findings,
        opened.recordings,
        output_format,
        evidence=evidence,
        paths=None if has_options else paths,
    )
    return opened.exit_code(exit_code(findings, fail_on, fail_below))
