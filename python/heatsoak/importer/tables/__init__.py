"""Tables as loggers write them: their layout, their cells, their headers, their rows."""
