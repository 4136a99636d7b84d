"""Runs protocols on drives: protocol x target x sensors -> recording, and a view meanwhile."""
