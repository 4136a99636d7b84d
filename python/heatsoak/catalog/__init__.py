"""The simulated drives and places, and the published figures: data with a source each."""
