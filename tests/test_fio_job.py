"""Native fio job files: read as fio reads them, and never leading fio astray."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from command import complaint, heatsoak_here, ran
from heatsoak.errors import UsageError
from heatsoak.protocol import Protocol, WorkloadStep
from heatsoak.protocol.fio_job import parse_job_file
from heatsoak.protocol.workload import PASSED_ON, wrong_option
from heatsoak.units import Size
from hypothesis import given
from hypothesis import strategies as st
from needs import needs

Read = Callable[[str], Protocol]

#: Values of each option that fio is handed, as its manual has them.
HANDED_ON = """
    ba=4k blockalign=4k,8k bs=4k,8k bs=,8k,16k bsrange=4k-64k,8k:16k bs_unaligned=1
    bssplit=4k/60:64k/40 bssplit=4k:8k bssplit=4k/10:8k/,4k/ allrandrepeat=1 randrepeat=0
    randseed=0x89 norandommap norandommap=0 iodepth_batch=4 iodepth_batch_submit=4
    iodepth_batch_complete=1 iodepth_batch_complete_min=1 iodepth_batch_complete_max=8
    iodepth_low=2 serialize_overlap=1 io_submit_mode=offload number_ios=1k
    random_generator=tausworthe64 random_distribution=random random_distribution=zipf
    random_distribution=zipf:1.2:0.3 random_distribution=pareto:0.9 random_distribution=normal:5
    random_distribution=zoned:60/10:30/20:8/30:2/40 percentage_random=10,20
    rw_sequencer=identical fsync=32 fdatasync=1 write_barrier=8 end_fsync=1 fsync_on_close=1
    sync=dsync sync=1 startdelay=5 startdelay=1s-5s startdelay=00:00:05 thinktime=5ms
    thinktime=0.5ms thinktime=50 thinktime_spin=10us thinktime_blocks=2 thinktime_iotime=1s
    thinktime_blocks_type=issue rate_process=poisson rate_ignore_thinktime=1 rate_cycle=500
    latency_target=10ms latency_window=1s latency_percentile=99.9 latency_percentile=100
    max_latency=1s nice=-5 nice=19 prio=7 prioclass=2 cpus_allowed=0 cpus_allowed=0-0,0
    cpus_allowed_policy=split cpumask=1 write_hint=medium invalidate=0 zero_buffers=1
    refill_buffers scramble_buffers=0 buffer_compress_chunk=4k buffer_pattern=0xdeadBEEF
    buffer_pattern=-12 buffer_pattern="abcd"0xff12"/etc/hostname" dedupe_percentage=50
    dedupe_mode=working_set dedupe_working_set_percentage=5 clocksource=clock_gettime
    flow=4 flow_id=1 flow_sleep=100
""".split()  # noqa: SIM905 -- as they would stand in a job file


@pytest.fixture
def job(tmp_path: Path) -> Read:
    def read(text: str) -> Protocol:
        path = tmp_path / "some job.fio"
        path.write_text(text)
        return parse_job_file(path)

    return read


def steps_of(read: Protocol) -> list[WorkloadStep]:
    return [step for step in read.workload_steps if isinstance(step, WorkloadStep)]


def test_sections_run_side_by_side_until_a_stonewall(job: Read) -> None:
    steps = steps_of(job("[a]\nrw=read\n[b]\nrw=write\n[c]\nstonewall\nrw=randread\n"))
    assert [(step.name, len(step.beside)) for step in steps] == [("a", 1), ("c", 0)]
    assert steps[0].beside[0].rw == "write"
    # a global one makes every section a step
    steps = steps_of(job("[global]\nwait_for_previous\n[a]\n[b]\n[b]\n"))
    assert [step.name for step in steps] == ["a", "b", "b-2"]
    # a later global section adds to the former for what follows
    text = "[global]\nstonewall\nbs=8k\n[a]\n[global]\nrw=randread\nbs=16k\n[b]\nbs=32k\n[c]\n"
    assert [(step.rw, step.bs) for step in steps_of(job(text))] == [
        *(("read", 8192), ("randread", 32768), ("randread", 16384))
    ]
    # comments start anywhere in a line
    [step] = steps_of(job("; first\n# second\n[a] \n  bs=8k ; third\n rw=write # fourth\n"))
    assert (step.bs, step.rw) == (8192, "write")


def test_sizes_and_times_are_those_of_fio_in_a_job_file(job: Read) -> None:
    for text, size in {
        **dict.fromkeys(("4k", "4K", "4kb", "4ki", "0x1000", "4096"), 4096),
        **{"4kib": 4000, "4KiB": 4000, "1m": 1 << 20, "1mib": 1_000_000},
    }.items():
        assert steps_of(job(f"[a]\nbs={text}\n"))[0].bs == size, text
    mib = Size(bytes=1 << 20)
    for text, runtime_s, moved, span in (
        # without a runtime each job transfers its size as often as it loops
        ("size=1m\nnumjobs=2\nloops=3", None, Size(bytes=6 << 20), mib),
        # a runtime alone ends at whichever is first
        ("size=1m\nruntime=2m", 120, mib, mib),
        # time based, it repeats the span
        ("size=1m\nio_size=3m\nruntime=1:30\ntime_based", 90, None, mib),
    ):
        [step] = steps_of(job(f"[a]\n{text}\n"))
        assert (step.runtime_s, step.io_size, step.span) == (runtime_s, moved, span), text
    assert job("[a]\nsize=1m\n[b]\noffset=4m\nsize=2m\n").file_size == Size(bytes=6 << 20)
    assert job("[a]\nsize=1m\n[b]\n").file_size == Size(percent=100.0)


def test_a_synchronous_engine_keeps_one_io_in_flight_and_says_so(job: Read) -> None:
    plain = job("[a]\niodepth=32\n")
    assert steps_of(plain)[0].iodepth == 1
    assert any("iodepth=32 became 1" in note for note in plain.notes)
    assert steps_of(job("[a]\niodepth=32\nioengine=libaio\n"))[0].iodepth == 32


def test_places_and_logs_are_left_out_and_named(job: Read) -> None:
    read = job("[a]\nfilename=/dev/sda\nwrite_bw_log=x\ndirect=1\nthinktime=5ms\n")
    [note] = read.notes
    assert "direct, filename and write_bw_log" in note
    assert steps_of(read)[0].fio == {"thinktime": "5ms"}


def test_a_mix_is_given_by_its_reads_or_its_writes_and_can_be_read_again(job: Read) -> None:
    read = job("[a]\nrw=readwrite\nrwmixwrite=30\n[b]\nstonewall\nrw=read\nrwmixread=10\n")
    assert [step.rwmixread for step in steps_of(read)] == [70, None]
    protocol = job("[a]\nsize=50%\nnumjobs=4\nruntime=9\n[b]\nstonewall\nrw=randrw\n")
    assert Protocol.model_validate_json(protocol.model_dump_json()) == protocol


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "holds no job"),
        ("bs=4k\n", "line 1: 'bs=4k' comes before any section"),
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
        ("[a]\nioengine=cpuio\n", "not an engine that loads a drive"),
        ("[a]\nkb_base=1000\n", "leave it at 1024"),
        ("[a]\nrate=1m,2m\n", "one limit"),
        ("[a]\nsize=${HEATSOAK_NO_SUCH}\n", "environment variable HEATSOAK_NO_SUCH"),
        ("[a]\nloops=2\n", "give bytes, or a runtime"),
        ("[a]\nrw=randrw\nrwmixread=200\n", "option 'rwmixread' is '200'"),
        ("[a]\nbuffer_pattern='/etc/shadow'\n", r"\[a\] option 'buffer_pattern' is .*shadow"),
        ("[global]\nbuffer_pattern='x'\n[a]\n", r"\[global\] .* no file is read"),
        ("[a]\nbuffer_pattern=\"a\"-12'x'\n", "in double quotes; no file is read"),
        ("[a]\nbuffer_pattern=%o\n", "option 'buffer_pattern' is '%o'"),
        ("[a]\nthinktime=${HOME}\n", "option 'thinktime' is '/.*': it must be a time"),
        ("[a]\nthinktime=`id`\n", "option 'thinktime' is '`id`': it must be a time"),
        ("[a]\nthinktime=$ncpus\n", "option 'thinktime'"),
        ("[a]\nthinktime=(1+2)\n", "option 'thinktime'"),
        ("[a]\nrate_process=poison\n", "did you mean 'poisson'.*it must be one of linear, poisson"),
        ("[a]\nbs=4k,/etc/passwd\n", "option 'bs' is '4k,/etc/passwd': it must be a size"),
        ("[a]\nioengine=external:/tmp/engine.so\n", "not an engine that loads a drive"),
        ("[a]\nmem=mmap:/etc/passwd\nverify_pattern='x'\n", "'verify_pattern' is not supported"),
        *[
            (f"[a]\n{option}\n", f"'{option.partition('=')[0]}' is not supported")
            for option in (
                *("exec_postrun=id", "opendir=/etc", "write_iolog=/etc/passwd", "profile=act"),
                *("ioscheduler=none", "cgroup=x", "uid=0", "verify_state_load=1"),
                *("merge_blktrace_file=x", "log_compression_cpus=0"),
            )
        ],
    ],
)
def test_what_is_wrong_is_named_by_file_section_and_option(
    job: Read, text: str, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        job(text)
    assert "some job.fio" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_option_that_is_handed_on_takes_what_fios_manual_says(job: Read) -> None:
    assert {option.partition("=")[0] for option in HANDED_ON} == PASSED_ON
    for option in HANDED_ON:
        assert steps_of(job(f"[a]\nrw=randwrite\n{option}\n"))


@pytest.mark.long
@needs("fio")
def test_fio_takes_every_value_that_is_handed_on(tmp_path: Path) -> None:
    file = tmp_path / "job.fio"
    for option in HANDED_ON:
        file.write_text(f"[a]\nfilename=x\nsize=16k\nrw=randwrite\n{option}\n")
        words = ["fio", "--parse-only", str(file)]
        done = ran(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


@given(
    option=st.sampled_from(sorted(PASSED_ON)),
    before=st.text('0123456789kx-"/:,', max_size=6),
    what=st.sampled_from(
        ["'", "\\", "$", "`", "\n", "\0", "%o", "/etc/passwd", "../x", "file", "--"]
    ),
    after=st.text("0123456789kx-/:,'", max_size=6),
)
def test_no_value_that_is_handed_on_can_name_a_file_or_a_command(
    option: str, before: str, what: str, after: str
) -> None:
    assert wrong_option(option, before + what + after) is not None


@pytest.mark.parametrize("kind", ["job.fio", "protocol.toml"])
def test_a_file_whose_content_would_be_written_is_refused_before_it_is_opened(
    tmp_path: Path, kind: str
) -> None:
    os.mkfifo(tmp_path / "secret")  # fio would wait for a writer for ever
    pattern = f"'{tmp_path / 'secret'}'"
    (tmp_path / "job.fio").write_text(f"[a]\nrw=write\nsize=1m\nbuffer_pattern={pattern}\n")
    (tmp_path / "protocol.toml").write_text(
        'name = "x"\n[[steps]]\nname = "a"\nrw = "read"\nbeside = [{ rw = "write", '
        f'io_size = "1m", fio.buffer_pattern = "{pattern}" }}]\n'
    )
    (tmp_path / "on").mkdir()
    said = complaint(heatsoak_here("run", kind, "--on", "on", "-o", "r", cwd=tmp_path), 2)
    assert said.startswith(f"heatsoak: {kind}: ")
    assert "'buffer_pattern' is" in said
    assert "no file is read" in said
    assert not (tmp_path / "r").exists()


def test_an_option_of_fios_in_a_protocol_is_named_by_its_step(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(
        'name = "x"\n[[steps]]\nname = "a"\nrw = "read"\n[[steps]]\nname = "b"\nrw = "write"\n'
        'fio = { thinktme = "5ms" }\n'
    )
    said = complaint(heatsoak_here("run", "p.toml", "--on", ".", cwd=tmp_path), 2)
    assert "p.toml: steps[2].fio: 'thinktme' is not passed on to fio (did you mean" in said


def test_quotes_are_part_of_a_value_and_variables_have_no_line_breaks(
    job: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '[a]\nbuffer_pattern="abcd"\n'
    assert steps_of(job(text))[0].fio == {"buffer_pattern": '"abcd"'}
    with pytest.raises(UsageError, match="option 'bs'"):
        job('[a]\nbs="4k"\n')
    monkeypatch.setenv("HEATSOAK_LINES", "5\nexec_prerun=id")
    with pytest.raises(UsageError, match=r"option 'name' .* HEATSOAK_LINES") as caught:
        job("[a]\nname=${HEATSOAK_LINES}\n")
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
