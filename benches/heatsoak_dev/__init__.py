"""What heatsoak's developers need and its users do not; not part of the installed package.

``corpus`` makes labelled recordings for the judge, ``calibration`` fits the simulated drives to
published figures. In a checkout both are commands of ``heatsoak``, which its help does not list.
"""
