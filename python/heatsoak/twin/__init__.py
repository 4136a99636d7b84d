"""Models of drives in their places: how they are fitted, and how well they hold."""
