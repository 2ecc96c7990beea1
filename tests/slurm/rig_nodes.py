"""Nodes of a rig that die and come back, and the processes of one."""

import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

from keeper import descendants, end, wait_until
from rig_machine import RigError, tail


def is_slurmd(pid, node):
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return os.path.basename(words[0]) == b"slurmd" and node.encode() in words
    return False  # ended while we looked


def open_sockets(pid):
    """The inodes of a process's sockets, as /proc/net/unix names them."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.update(re.findall(r"^socket:\[(\d+)\]$", os.readlink(entry.path)))
    return found


def environment_of(pid):
    """The "NAME=value" that a process was started with."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    return []


def end_all(select, timeout, step):
    if not end(select, signal.SIGKILL, timeout):
        raise RigError(f"{step}: still there after {timeout} s: {sorted(select())}")


class MortalNodes:
    """The part of a Rig that kills nodes, revives them, and waits until they are idle."""

    def processes_of(self, name):
        """The pids of all that a node runs: its slurmd, the slurmstepds and what they started."""
        ours = descendants(self.keeper.pid)
        sockets = {line.split()[6] for line in Path("/proc/net/unix").read_text().splitlines()
                   if f" {self.dir}/spool/{name}/" in line}
        roots = [pid for pid in ours if is_slurmd(pid, name) or sockets & open_sockets(pid)]
        # A task that has left its step's tree still has the environment of its step.
        strays = [pid for pid in ours if f"SLURMD_NODENAME={name}" in environment_of(pid)]
        return {*roots, *strays, *(below for pid in roots for below in descendants(pid))}

    def kill_node(self, name, timeout=10):
        """The node dies, as for a loss of power: its slurmd, its slurmstepds and all tasks at once, by pid."""
        self.kill_slurmd(name)  # first, or it would tell of the others' end
        end_all(lambda: self.processes_of(name), timeout, f"kill the node {name}")

    def kill_slurmd(self, name, timeout=10):
        """Only the slurmd of a node dies: to slurmctld the node is gone, but its steps live on."""
        end_all(lambda: {pid for pid in descendants(self.keeper.pid) if is_slurmd(pid, name)}, timeout,
                f"kill the slurmd of {name}")

    def revive_nodes(self):
        """Starts each slurmd that was killed; returns when all nodes are idle."""
        running = descendants(self.keeper.pid)
        for name in self.names:
            if not any(is_slurmd(pid, name) for pid in running):
                self.start_slurmd(name)
        # A node that a test set DOWN itself stays so.
        states = dict(line.split() for line in self.run(["sinfo", "-h", "-N", "-o", "%N %T"], user="root").stdout.splitlines())
        for name in (name for name, state in states.items() if re.match("down|drain", state)):
            self.run(["scontrol", "update", f"NodeName={name}", "State=RESUME"], user="root", check=False)
        self._wait_for_nodes()

    def _wait_for_nodes(self, timeout=60):
        def states():
            out = subprocess.run(["sinfo", "-h", "-N", "-o", "%N %T"], env=self.environment("root"), capture_output=True,
                                 text=True, check=False).stdout
            return dict(line.split() for line in out.splitlines())

        def settled():
            now = states()
            return bool(self._dead_slurmd()) or (len(now) == len(self.names) and set(now.values()) == {"idle"})
        in_time = wait_until(settled, timeout)
        if dead := self._dead_slurmd():
            raise RigError(f"start the slurmd of {dead}: it ended\n{tail(self.log(dead))}")
        if not in_time:
            waiting = next(name for name in self.names if states().get(name) != "idle")
            raise RigError(f"wait for the nodes: {states()} after {timeout} s; log of {waiting}:\n{tail(self.log(waiting))}")

    def _dead_slurmd(self):
        return next((name for name in self.names if self._keep("status", name=name) is not None), None)
