"""What came out of a rack: who passes, which drives differ, and whether that is drive or place."""
