"""takeback as a command, without an SDK."""

import os
import subprocess

from harness import TAKEBACK


def run(ws, *args, cwd=None, **env):
    """Runs it to its end: exit code, stdout and stderr. Its input is at its end already."""
    ended = subprocess.run(
        [TAKEBACK, *args],
        cwd=cwd or ws.cwd,
        env={**os.environ, **ws.env, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    told = (ended.returncode, ended.stdout.decode(), ended.stderr.decode())
    ws.note(f"takeback {' '.join(args)}", told)
    return told


def rewound(uuid):
    return (0, f"Files rewound to state at message {uuid}\n", "")


UNDONE = (0, "The last rewind is undone\n", "")


def refused(sentence):
    return (1, "", f"Error: {sentence}\n")
