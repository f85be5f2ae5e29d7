"""Compiled kernels: functions on arrays, with no classes, no validation and no I/O."""
