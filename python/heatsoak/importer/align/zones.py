"""A wall clock of some zone, and UTC: how far they are apart by where the logs lie."""


def zone_shift(
    reference_begin_unix: float, reference_span: float, local_begin_unix: float, local_span: float
) -> float | None:
    """Return what to add to a local wall clock, read as if it were UTC, to have UTC, in seconds.

    Of the offsets that zones have, -12 h to +14 h in quarters of an hour, it is the one at which
    the logs overlap longest. None where none makes them overlap, or several do equally long: where
    a short log would lie within a long one in several ways.
    """
    shifts = [-900.0 * quarter for quarter in range(-48, 57)]
    end = reference_begin_unix + reference_span
    overlaps = [
        min(end, local_begin_unix + shift + local_span)
        - max(reference_begin_unix, local_begin_unix + shift)
        for shift in shifts
    ]
    longest = max(overlaps)
    equal_s = max(1.0, 0.01 * min(reference_span, local_span))
    fitting = [
        s for s, overlap in zip(shifts, overlaps, strict=True) if overlap > longest - equal_s
    ]
    return fitting[0] if longest > 0 and len(fitting) == 1 else None
