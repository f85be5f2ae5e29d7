"""How much memory there is, asked before work that needs much of it."""

from __future__ import annotations

from pathlib import Path

from structune.errors import DataError

_SMALL = 1 << 28  # bytes that nobody asks for
_MEMINFO = Path("/proc/meminfo")
_LIMITS = (  # of containers: what is allowed, and what is used
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def require_memory(needed: float, what: str) -> None:
    """Refuse work that needs more bytes than there are, where the system tells.

    Raises
    ------
    DataError
        Names the work, what it needs, and what there is.
    """
    if needed > _SMALL and (free := available_memory()) is not None and needed > free:
        raise DataError(f"{what} need {needed / 1e9:.1f} GB of memory, found {free / 1e9:.1f} GB available")


def available_memory() -> int | None:
    """Bytes that can still be had, or None where the system does not tell (it is no Linux)."""
    found = [_number(allowed) - _number(used) for allowed, used in _LIMITS if _number(allowed) > 0]
    if _MEMINFO.exists():
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
        found.append(1024 * int(lines["MemAvailable"].split()[0]))
    return max(0, min(found)) if found else None


def _number(path: str) -> int:
    """The number that a file holds, 0 if there is none."""
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return 0
