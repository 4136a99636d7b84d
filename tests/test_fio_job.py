"""Native fio job files: read as fio reads them, and never leading fio astray."""

from collections.abc import Callable
from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.protocol import Protocol, WorkloadStep
from heatsoak.protocol.fio_job import JobFile, parse_job_file, read_job_file
from heatsoak.units import Size
from hypothesis import given
from hypothesis import strategies as st

Read = Callable[[str], JobFile]


@pytest.fixture
def job(tmp_path: Path) -> Read:
    def read(text: str) -> JobFile:
        path = tmp_path / "some job.fio"
        path.write_text(text)
        return read_job_file(path)

    return read


def steps_of(read: JobFile) -> list[WorkloadStep]:
    return [step for step in read.protocol.workload_steps if isinstance(step, WorkloadStep)]


def test_sections_run_beside_each_other_until_a_stonewall(job: Read) -> None:
    steps = steps_of(job("[a]\nrw=read\n[b]\nrw=write\n[c]\nstonewall\nrw=randread\n"))
    assert [(step.name, len(step.beside)) for step in steps] == [("a", 1), ("c", 0)]
    assert steps[0].beside[0].rw == "write"


def test_a_global_stonewall_makes_every_section_a_step(job: Read) -> None:
    steps = steps_of(job("[global]\nwait_for_previous\n[a]\n[b]\n[b]\n"))
    assert [step.name for step in steps] == ["a", "b", "b-2"]


def test_a_later_global_section_adds_to_the_former_for_what_follows(job: Read) -> None:
    text = "[global]\nstonewall\nbs=8k\n[a]\n[global]\nrw=randread\nbs=16k\n[b]\nbs=32k\n[c]\n"
    steps = steps_of(job(text))
    assert [(step.rw, step.bs) for step in steps] == [
        ("read", 8192),
        ("randread", 32768),
        ("randread", 16384),
    ]


def test_comments_begin_anywhere_in_a_line(job: Read) -> None:
    [step] = steps_of(job("; first\n# second\n[a] \n  bs=8k ; third\n rw=write # fourth\n"))
    assert (step.bs, step.rw) == (8192, "write")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4k", 4096),
        ("4K", 4096),
        ("4kb", 4096),
        ("4ki", 4096),
        ("4kib", 4000),
        ("4KiB", 4000),
        ("1m", 1 << 20),
        ("1mib", 1_000_000),
        ("0x1000", 4096),
        ("4096", 4096),
    ],
)
def test_sizes_are_those_of_fio_in_a_job_file(job: Read, text: str, size: int) -> None:
    assert steps_of(job(f"[a]\nbs={text}\n"))[0].bs == size


def test_without_a_runtime_each_job_transfers_its_size_as_often_as_it_loops(job: Read) -> None:
    [step] = steps_of(job("[a]\nsize=1m\nnumjobs=2\nloops=3\n"))
    assert (step.runtime_s, step.io_size, step.span) == (
        None,
        Size(bytes=6 << 20),
        Size(bytes=1 << 20),
    )


def test_a_runtime_alone_ends_at_whichever_is_first(job: Read) -> None:
    [step] = steps_of(job("[a]\nsize=1m\nruntime=2m\n"))
    assert (step.runtime_s, step.io_size) == (120, Size(bytes=1 << 20))


def test_time_based_repeats_the_span_for_the_runtime(job: Read) -> None:
    [step] = steps_of(job("[a]\nsize=1m\nio_size=3m\nruntime=1:30\ntime_based\n"))
    assert (step.runtime_s, step.io_size) == (90, None)


def test_a_synchronous_engine_keeps_one_io_in_flight_and_says_so(job: Read) -> None:
    plain = job("[a]\niodepth=32\n")
    assert steps_of(plain)[0].iodepth == 1
    assert any("iodepth=32 became 1" in note for note in plain.notes)
    assert steps_of(job("[a]\niodepth=32\nioengine=libaio\n"))[0].iodepth == 32


def test_places_and_logs_are_left_out_and_named(job: Read) -> None:
    read = job("[a]\nfilename=/dev/sda\nwrite_bw_log=x\ndirect=1\nthinktime=5ms\n")
    [note] = read.notes
    assert "direct, filename, write_bw_log" in note
    assert steps_of(read)[0].fio == {"thinktime": "5ms"}
    assert note in read.protocol.notes


def test_the_test_file_is_as_large_as_the_jobs_need(job: Read) -> None:
    assert job("[a]\nsize=1m\n[b]\noffset=4m\nsize=2m\n").protocol.file_size == Size(bytes=6 << 20)
    assert job("[a]\nsize=1m\n[b]\n").protocol.file_size == Size(percent=100.0)


def test_a_mix_is_given_by_its_reads_or_its_writes(job: Read) -> None:
    read = job("[a]\nrw=readwrite\nrwmixwrite=30\n[b]\nstonewall\nrw=read\nrwmixread=10\n")
    assert [step.rwmixread for step in steps_of(read)] == [70, None]


def test_what_was_read_can_be_written_into_a_recording_and_read_again(job: Read) -> None:
    protocol = job("[a]\nsize=50%\nnumjobs=4\nruntime=9\n[b]\nstonewall\nrw=randrw\n").protocol
    assert Protocol.model_validate_json(protocol.model_dump_json()) == protocol


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "holds no job"),
        ("bs=4k\n", "line 1: 'bs=4k' stands before any section"),
        ("[a\n", "line 1"),
        ("[a]\ninclude other.fio\n", "line 2: include is not supported"),
        ("[a]\nexec_prerun=rm\n", r"\[a\] option 'exec_prerun' is not supported"),
        ("[a]\nread_iolog=x\n", "'read_iolog' is not supported"),
        ("[a]\nbss=4k\n", r"did you mean 'bs"),
        ("[a]\nbs=nine\n", "option 'bs' is 'nine': a size"),
        ("[a]\nbs=0\n", "option 'bs' is '0'"),
        ("[a]\nruntime=-1\n", "option 'runtime' is wrong"),
        ("[a]\niodepth=-1\n", "option 'iodepth' is '-1'"),
        ("[a]\nrw=sideways\n", "option 'rw' is 'sideways'"),
        ("[a]\nrw=trim\n", "trim is not measured"),
        ("[a]\ntime_based\n", "needs a runtime"),
        ("[a]\nioengine=cpuio\n", "none that loads a drive"),
        ("[a]\nkb_base=1000\n", "leave it at 1024"),
        ("[a]\nrate=1m,2m\n", "one limit"),
        ("[a]\nsize=${HEATSOAK_NO_SUCH}\n", "environment variable HEATSOAK_NO_SUCH"),
        ("[a]\nloops=2\n", "give bytes, or a runtime"),
        ("[a]\nrw=randrw\nrwmixread=200\n", "option 'rwmixread' is '200'"),
    ],
)
def test_what_is_wrong_is_named_by_file_section_and_option(
    job: Read, text: str, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        job(text)
    assert "some job.fio" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read_are_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "binary.fio").write_bytes(b"\xff\xfe\x00")
    for name in ("missing.fio", "binary.fio"):
        with pytest.raises(UsageError, match=name):
            parse_job_file(tmp_path / name)


WORDS = st.sampled_from(
    ["[a]", "[global]", "rw", "bs", "size", "=", "4k", "10%", "runtime", "0", "-", ":", ",", "${"]
)


@given(lines=st.lists(st.lists(WORDS, max_size=4).map("".join) | st.text(max_size=20), max_size=8))
def test_any_text_is_a_protocol_or_our_error(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    path = tmp_path_factory.mktemp("any") / "any.fio"
    path.write_text("\n".join(lines), encoding="utf-8", errors="replace")
    message = ""
    try:
        assert parse_job_file(path).steps
    except UsageError as error:
        message = str(error)
    assert "\n" not in message
