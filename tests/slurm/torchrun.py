#!/usr/bin/python3
"""Starts and watches workers as torchrun does, so that scripts for torchrun run here.

One runs on each node.  The one on the host of --rdzv-endpoint also keeps the meeting: it waits for all nodes,
or for the least number and a moment more, and deals the ranks.  When a worker fails or a node is gone, all
workers are ended and those who are left meet again, --max-restarts times.

Like torchrun it catches SIGTERM, ends its workers by it and then itself, and does not catch SIGUSR1, of
which it dies.
"""

import argparse
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

LAST_CALL = 2  # seconds to wait for more nodes than the least number


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nnodes", default="1")
    parser.add_argument("--nproc-per-node", type=int, default=1)
    parser.add_argument("--max-restarts", type=int, default=0)
    parser.add_argument("--rdzv-backend")
    parser.add_argument("--rdzv-id", default="none")
    parser.add_argument("--rdzv-endpoint", default="")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    least, _, most = options.nnodes.partition(":")
    options.least, options.most = int(least), int(most or least)
    return options


class Peer:
    """A connection that carries one JSON object a line."""

    def __init__(self, connection):
        self.connection = connection

    def fileno(self):
        return self.connection.fileno()

    def send(self, **message):
        with contextlib.suppress(OSError):
            self.connection.sendall(json.dumps(message).encode() + b"\n")

    def receive(self):
        """The next message; None when the other side is gone."""
        line = b""
        with contextlib.suppress(OSError):
            while not line.endswith(b"\n"):
                byte = self.connection.recv(1)
                if not byte:
                    return None
                line += byte
            return json.loads(line)
        return None


class Meeting:
    """Deals ranks to the nodes; a process of its own beside the first node's launcher."""

    def __init__(self, options, path):
        self.options, self.members, self.rounds = options, {}, 0
        self.server = socket.create_server(("127.0.0.1", 0))
        temporary = path.with_suffix(".new")
        temporary.write_text(str(self.server.getsockname()[1]))
        os.replace(temporary, path)

    def gather(self):
        """Waits until the nodes that are to take part have come."""
        came = time.monotonic()
        while len(self.members) < self.options.most:
            if len(self.members) >= self.options.least and time.monotonic() - came > LAST_CALL:
                return
            if select.select([self.server], [], [], 0.1)[0]:
                peer = Peer(self.server.accept()[0])
                self.members[peer] = peer.receive()["node"]
                came = time.monotonic()

    def deal(self):
        nodes = sorted(self.members, key=self.members.get)
        for index, peer in enumerate(nodes):
            peer.send(round=self.rounds, first=index * self.options.nproc_per_node,
                      world=len(nodes) * self.options.nproc_per_node)

    def watch(self):
        """Whether all nodes are done; False when one failed or is gone."""
        waiting = set(self.members)
        while waiting:
            for peer in select.select(list(waiting), [], [])[0]:
                if (peer.receive() or {}).get("done"):
                    waiting.remove(peer)
                else:
                    return False
        return True

    def run(self):
        while True:
            self.gather()
            self.deal()
            if self.watch() or self.rounds == self.options.max_restarts:
                return
            self.rounds += 1
            for peer in self.members:
                peer.connection.close()  # says: come again
            self.members = {}


class Agent:
    """The launcher of one node."""

    def __init__(self, options, path):
        self.options, self.path, self.workers = options, path, []

    def join(self):
        while not self.path.exists():
            time.sleep(0.05)
        meeting = Peer(socket.create_connection(("127.0.0.1", int(self.path.read_text()))))
        meeting.send(node=int(os.environ.get("SLURM_NODEID", 0)))
        return meeting, meeting.receive()

    def start(self, turn):
        def start(local):
            env = {**os.environ, "LOCAL_RANK": str(local), "RANK": str(turn["first"] + local), "WORLD_SIZE": str(turn["world"]),
                   "TORCHELASTIC_RESTART_COUNT": str(turn["round"])}
            return subprocess.Popen([sys.executable, self.options.script, *self.options.arguments], env=env)
        self.workers = [start(local) for local in range(self.options.nproc_per_node)]

    def end(self, sig=signal.SIGTERM):
        for worker in self.workers:
            worker.send_signal(sig)
        for worker in self.workers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.wait(5)
            worker.kill()
            worker.wait()

    def watch(self, meeting):
        """Whether all workers ended well; False when one did not, or others come again."""
        while True:
            statuses = [worker.poll() for worker in self.workers]
            if all(status == 0 for status in statuses):
                meeting.send(done=True)
                return True
            if any(statuses) or select.select([meeting], [], [], 0.05)[0]:
                self.end(signal.SIGKILL)
                return False

    def run(self):
        while True:
            try:
                meeting, turn = self.join()
            except OSError:
                return 1  # the meeting is over
            if turn is None:
                return 1
            self.start(turn)
            if self.watch(meeting):
                return 0
            meeting.send(failed=True)
            meeting.receive()


def main():
    options = parse_options()
    host = options.rdzv_endpoint.partition(":")[0]
    path = Path("torchrun.{}.{}.{}".format(options.rdzv_id, os.environ.get("SLURM_RESTART_COUNT", 0),
                                           os.environ.get("SLURM_STEP_ID", "batch"))).absolute()
    meeting = None
    if os.environ.get("SLURMD_NODENAME") == host or not host:
        meeting = os.fork()
        if meeting == 0:
            Meeting(options, path).run()
            os._exit(0)
    agent = Agent(options, path)

    def leave(*_):
        agent.end()
        sys.exit(1)
    signal.signal(signal.SIGTERM, leave)
    status = agent.run()
    if meeting:
        os.waitpid(meeting, 0)  # the step ends its processes with its last task
    sys.exit(status)


if __name__ == "__main__":
    main()
