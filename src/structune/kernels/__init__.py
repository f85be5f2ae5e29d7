"""Compiled kernels: functions on arrays, with no classes, no validation and no I/O."""

from collections.abc import Callable

on_first_compilation: Callable[[], None] | None = None  # called once, before anything is compiled
