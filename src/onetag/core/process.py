"""Process-wide settings that decide CPU speed; made at the start of the command line and of the engine, never by `import onetag`.

glibc hands big blocks back to the kernel at every training step and faults them in again: keeping them makes inference of a
small convolutional network several times faster. OpenMP threads that spin while another thread works starve each other when there are
more busy threads than cores: waiting passively avoids the collapse. Both are Linux with glibc only; elsewhere nothing is changed.
"""

from __future__ import annotations

import os
import sys

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4


def prepare() -> bool:
    """Set allocator and OpenMP waiting; returns whether the allocator took it. Does nothing with ONETAG_PROCESS_SETTINGS=0."""
    if os.environ.get("ONETAG_PROCESS_SETTINGS") == "0" or not sys.platform.startswith("linux"):
        return False
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when torch loads its OpenMP runtime
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # musl and others have no mallopt
        return False
    mallopt(_M_MMAP_MAX, 0)
    mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(_M_TOP_PAD, 256 << 20)
    return True
