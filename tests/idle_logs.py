"""Logs of drives that nobody loaded, in a machine whose graphics card was busy for a while."""

from pathlib import Path

import numpy as np

#: How slowly the drives follow the card.
FOLLOWED_S = 150.0
_T_S = np.arange(1.0, 1801.0)


def idle_log(path: Path, seed: int = 0) -> Path:
    """Write half an hour of it, a row a second: a drive that does what idling systems do."""
    chance = np.random.default_rng(seed)
    card_c = np.where((400 + 20 * seed < _T_S) & (_T_S < 1200), 75.0 + seed, 40.0)
    drive_c, now_c = [], 40.0
    for at_c in card_c:
        now_c += (38 + 0.6 * (at_c - 40) - now_c) / FOLLOWED_S
        drive_c.append(now_c)
    mb_s = np.where(chance.random(len(_T_S)) < 0.3, 3 * chance.random(len(_T_S)), 0.0)
    rows = [
        f"{t_s:.0f},{rate:.2f},{own_c:.2f},{at_c:.2f}"
        for t_s, rate, own_c, at_c in zip(_T_S, mb_s, drive_c, card_c, strict=True)
    ]
    header = "time_s,write_mb_s,drive_temp_c,gpu_temperature_c"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path
