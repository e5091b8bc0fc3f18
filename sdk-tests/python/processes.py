"""Who of our children is still there, zombies included."""

import os
import subprocess
import sys
import time
from pathlib import Path

import anyio


def children_named(name):
    """Our children of that name, as "pid state"."""
    processes = _from_proc() if sys.platform == "linux" else _from_ps()
    # Linux keeps 15 bytes of a name.
    return [f"{pid} {state}" for pid, parent, state, comm in processes if parent == os.getpid() and comm[:15] == name[:15]]


def _from_proc():
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text(errors="replace")
        except OSError:
            continue  # it ended in the meantime
        # pid (name) state parent …; the name may hold anything, even ")".
        close = stat.rindex(")")
        state, parent = stat[close + 2 :].split(" ")[:2]
        yield entry.name, int(parent), state, stat[stat.index("(") + 1 : close]


def _from_ps():
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,state=,comm="], capture_output=True, text=True, check=True)
    for line in listed.stdout.splitlines():
        pid, parent, state, comm = line.split(None, 3)
        yield pid, int(parent), state, comm.rsplit("/", 1)[-1]


def group(pid):
    """The process group, if a process of it is left."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return []
    return [f"group {pid}"]


async def has_ended(listed):
    """Waits until listed() is empty. Nothing tells of it, so it looks again and again."""
    deadline = time.monotonic() + 10
    while left := listed():
        assert time.monotonic() < deadline, f"still there after 10 s: {left}"
        await anyio.sleep(0.005)
