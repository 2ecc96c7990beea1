"""What a rig finds on this machine: its Slurm and its freezer, free ports, who can enter a folder; and how a rig fails."""

import contextlib
import glob
import random
import re
import socket
import subprocess
from pathlib import Path

from keeper import Freezer


class RigError(Exception):
    """The cluster did not do what it was told; the message names the step."""


class CommandError(RigError):
    """A command ended with an error (`status`, `stdout`, `stderr`)."""

    def __init__(self, command, result):
        self.status, self.stdout, self.stderr = result.returncode, result.stdout, result.stderr
        super().__init__(f"{command}: exit status {self.status}\n{self.stdout}{self.stderr}")


def slurm_version():
    """(22, 5, 8)"""
    text = subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in re.search(r"(\d+)\.(\d+)\.(\d+)", text).groups())


def stock_plugin_dir():
    for pattern in ("/usr/lib/*/slurm-wlm", "/usr/lib/*/slurm", "/usr/lib64/slurm", "/usr/lib/slurm"):
        for folder in glob.glob(pattern):
            if Path(folder, "auth_munge.so").exists():
                return folder
    raise RigError("find Slurm's plugins: no auth_munge.so below /usr/lib")


def closed_to_others(folder):
    """The first folder on the way into `folder` that a plain user cannot enter; None if he gets there."""
    way = [*reversed(folder.parents), folder]
    return next((part for part in way if not part.stat().st_mode & 0o001), None)


def has_freezer():
    """Whether proctrack/cgroup can be had here: the freezer of cgroup v1 is mounted where Slurm looks for it."""
    return Path(Freezer.ROOT, "release_agent").exists()


def free_ports(count):
    """The first of `count` successive free TCP ports.

    They lie below the range from which the kernel takes the ports of clients.  Somebody may
    still take one before our daemon does: Rig.start() then tries again.
    """
    for _ in range(100):
        first = random.randrange(10_000, 32_000 - count)
        with contextlib.ExitStack() as sockets, contextlib.suppress(OSError):
            for port in range(first, first + count):
                sockets.enter_context(socket.socket()).bind(("", port))
            return first
    raise RigError(f"find {count} free ports: none in 100 tries")


def tail(text, lines=15):
    return "\n".join(text.splitlines()[-lines:])
