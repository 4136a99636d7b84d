"""Models of drives in their places: their calibration, and how well they reproduce real ones."""
