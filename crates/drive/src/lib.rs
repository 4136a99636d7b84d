//! A simulated drive.
