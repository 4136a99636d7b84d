"""What readers share: frames of samples, and lines."""

import numpy as np
from heatsoak.importer import Source
from heatsoak.importer.frames import build


def test_samples_in_order_are_taken_as_they_are() -> None:
    frame = build({"t_s": np.array([1.0, 2.0]), "bw_mb_s": np.array([5.0, np.nan])})
    assert frame["bw_mb_s"].to_list() == [5, None]


def test_samples_are_sorted_and_times_are_unique() -> None:
    t_s = np.array([2.0, 1.0, np.nan, 1.0, np.inf])
    frame = build({"t_s": t_s, "iops": np.arange(5.0), "bw_mb_s": np.full(5, np.inf)})
    assert frame["t_s"].to_list() == [1, 2]
    assert frame["iops"].to_list() == [1, 0]
    assert "bw_mb_s" not in frame.columns


def test_lines_of_the_head_can_be_in_different_encodings() -> None:
    source = Source.of_bytes("x", "\ufeffgrün\n".encode() + b"gr\xfcn\n")
    assert source.head_lines[:2] == ["grün", "grün"]
