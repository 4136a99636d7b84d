"""What recordings show as numbers, and what lies behind the numbers.

`table` makes a row of each judged step; `effects` tells conditions and places from drives from
repeated runs, and fits the days of a history.
"""
