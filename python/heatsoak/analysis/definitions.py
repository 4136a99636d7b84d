"""What counts as an episode: definitions that the judge, the labelled corpus, comparisons and the
calibration share.

To change one is to change what a figure means: fit the weights (`make weights`) and the simulated
drive (`make calibrate`) again afterwards.
"""

#: Throughput has left its level when this share of it is lost: the onset.
ONSET_LOSS = 0.02
#: A smaller loss is not an episode.
MIN_DROP = 0.05
#: Throughput has recovered when it is back at this share of the level before.
RECOVERED = 0.97
#: What an episode or a step has come to is its mean over the last seconds.
LAST_S = 60.0
#: The lowest level of an episode is one that was held for so long.
HELD_S = 5.0
#: A step is steady if its falls cost less than this share of its work and none lasts longer.
MAX_STEADY_LOSS = 0.01
MAX_STEADY_FALL_S = 30.0
#: Onsets that differ by less than this factor have not moved.
SAME_ONSET_RATIO = 1.1
#: Hardly any drive throttles at a lower temperature, as it reports it.
MIN_THROTTLING_C = 55.0
#: Most drives throttle at this temperature or above, as they report it.
USUALLY_THROTTLING_C = 70.0
#: A reported temperature that moves less under a load does not show its heat.
MIN_RISE_K = 5.0
#: A temperature this close to another is held there: sensors round to a kelvin, and lag.
HELD_WITHIN_K = 3.0
#: This many regular falls and recoveries are an oscillation; fewer may be chance.
MIN_CYCLES = 3
#: Why a step without rates was not judged.
NO_THROUGHPUT = "no throughput was logged"
