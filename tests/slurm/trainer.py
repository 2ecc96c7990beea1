#!/usr/bin/python3
"""A small real trainer: what it computes depends on every step, so that a resumed run can be proven equal
to one that nothing interrupted.

    srun trainer.py --dir DIR --steps 100

Ranks meet over TCP and sum their shares of each step; a rank that dies breaks the others' sum, as it breaks
NCCL's.  The ranks agree at the end of a step whether to write a checkpoint, since a signal, or the tick of
a clock, finds each of them in another step.  A checkpoint is a folder that appears by rename, and counts
once the file of Megatron-LM that names the newest one has been renamed too.

A rank of an old attempt may live on while the job runs anew.  Each attempt takes an *epoch* when it starts,
and whoever publishes a file looks, under a lock, whether his epoch is still the newest.

Each rank writes what happens to it into DIR/events/ATTEMPT.RANK.jsonl.
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

SHARES = 24  # of a step's work; the sum is the same for any number of ranks that does it
LATEST = "latest_checkpointed_iteration.txt"


class Fenced(Exception):
    """A newer attempt has taken over."""


class PeerLost(Exception):
    """Another rank has died or hangs."""


# -- who we are -----------------------------------------------------------------------------------


def number(*names, default=None):
    """The first of these variables that is set, as a number."""
    for name in names:
        if os.environ.get(name, "").strip():
            return float(os.environ[name])
    return default


class Place:
    """This rank among the others, by the variables of a launcher or of srun."""

    def __init__(self):
        self.rank = int(number("RANK", "SLURM_PROCID", default=0))
        self.world = int(number("WORLD_SIZE", "SLURM_STEP_NUM_TASKS", default=1))
        self.job = int(number("SLURM_JOB_ID", default=0))
        self.attempt = int(number("SLURM_RESTART_COUNT", default=0))
        # One meeting per start of all ranks: the step of Slurm, and the launcher's count of starts.
        self.meeting = "{}.{}.{}.{}".format(self.job, self.attempt, os.environ.get("SLURM_STEP_ID", "batch"),
                                            os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))


# -- files that appear whole ------------------------------------------------------------------------


def replace(path, text):
    """The file has the old text or the new one, at any moment."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    os.replace(temporary, path)


class Fence:
    """DIR/epoch.json tells which attempt may publish."""

    def __init__(self, folder):
        self.path, self.lock_path = folder / "epoch.json", folder / "epoch.lock"
        self.epoch = None

    @contextlib.contextmanager
    def locked(self):
        with open(self.lock_path, "a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def read(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {"epoch": 0, "job": 0, "attempt": 0}

    def take_over(self, place):
        """A new epoch, unless a later attempt of the same job has one."""
        with self.locked():
            held = self.read()
            if held["job"] == place.job and held["attempt"] > place.attempt:
                raise Fenced(f"attempt {place.attempt} is over: {held['attempt']} runs")
            self.epoch = held["epoch"] + 1
            replace(self.path, json.dumps({"epoch": self.epoch, "job": place.job, "attempt": place.attempt}))

    def publish(self, act):
        """Does it while nobody can take over."""
        with self.locked():
            held = self.read()
            if held["epoch"] != self.epoch:
                raise Fenced(f"epoch {self.epoch} is over: {held['epoch']} runs")
            act()


# -- the other ranks --------------------------------------------------------------------------------


class Group:
    """Sums over all ranks: each sends its part to rank 0, which sends back the whole."""

    def __init__(self, place, folder, timeout):
        self.place, self.timeout = place, timeout
        meeting = folder / "meetings" / place.meeting
        meeting.parent.mkdir(exist_ok=True)
        self.peers = self.accept(meeting) if place.rank == 0 else [self.connect(meeting)]

    def accept(self, meeting):
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(60)
            replace(meeting, str(server.getsockname()[1]))
            peers = {}
            while len(peers) < self.place.world - 1:
                peer = self.stream(server.accept()[0])
                peers[self.receive(peer)] = peer
            return [peers[rank] for rank in sorted(peers)]

    def connect(self, meeting):
        end = time.monotonic() + 60
        while not meeting.exists():
            if time.monotonic() > end:
                raise PeerLost("rank 0 does not come")
            time.sleep(0.02)
        try:
            peer = self.stream(socket.create_connection(("127.0.0.1", int(meeting.read_text()))))
        except OSError as error:
            raise PeerLost(f"rank 0: {error}") from None
        self.send(peer, self.place.rank)
        return peer

    def stream(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(self.timeout)
        return connection.makefile("rw", encoding="ascii")

    @staticmethod
    def send(peer, value):
        peer.write(json.dumps(value) + "\n")
        peer.flush()

    def reduce(self, part, combine):
        """combine([part of rank 0, part of rank 1, ...]), the same on all ranks."""
        try:
            if self.place.rank:
                self.send(self.peers[0], part)
                return self.receive(self.peers[0])
            whole = combine([part, *map(self.receive, self.peers)])
            for peer in self.peers:
                self.send(peer, whole)
            return whole
        except OSError as error:
            raise PeerLost(f"{error}") from None

    @staticmethod
    def receive(peer):
        line = peer.readline()
        if not line.endswith("\n"):
            raise PeerLost("connection closed")
        return json.loads(line)

    def barrier(self):
        self.reduce(None, lambda parts: None)


# -- when to write ------------------------------------------------------------------------------------


class Wishes:
    """What this rank has heard: signals, the clock, the end of the job."""

    def __init__(self, options, place):
        self.heard = {}  # signal -> when it counts
        # As if the clock of each node were later than that of the last one.
        self.late = options.skew * place.rank
        self.interval = number("RAILHEAD_CKPT_INTERVAL") if options.interval is None else options.interval
        self.deadline = number("RAILHEAD_CKPT_DEADLINE")
        self.save, self.stop = (getattr(signal, f"SIG{name}") for name in (options.signal, options.stop_signal))
        self.tick = self.ticks()
        for caught in () if options.unprepared else (self.save, self.stop):
            signal.signal(caught, lambda number, _: self.heard.setdefault(number, time.time() + self.late))

    def ticks(self):
        return int(time.time() / self.interval) if self.interval else 0

    def ask(self):
        """{"save": why, "stop": why}, and forgets; a reason is missing where nothing asks."""
        now, wish = time.time(), {}
        if self.ticks() != self.tick:
            self.tick, wish["save"] = self.ticks(), "interval"
        for number in [number for number, when in self.heard.items() if when <= now]:
            del self.heard[number]
            wish["save" if number == self.save else "stop"] = signal.Signals(number).name
        if self.deadline and now >= self.deadline:
            self.deadline, wish["stop"] = None, "deadline"
        return wish


# -- training -----------------------------------------------------------------------------------------


def gradient(state, shares):
    """What these shares of a step come to; the sum of all does not depend on who has which."""
    return sum(int.from_bytes(hashlib.sha256(f"{state}{share}".encode()).digest()[:6], "big") for share in shares)


def advance(state, total):
    return hashlib.sha256(f"{state}{total}".encode()).hexdigest()


def state_after(steps):
    """The state of a run that nothing interrupted."""
    state = ""
    for _ in range(steps):
        state = advance(state, gradient(state, range(SHARES)))
    return state


class Trainer:
    def __init__(self, options):
        self.options, self.place = options, Place()
        self.folder = Path(options.dir)
        (self.folder / "events").mkdir(parents=True, exist_ok=True)
        self.events = open(self.folder / "events" / f"{self.place.attempt}.{self.place.rank}.jsonl", "a", encoding="ascii")
        self.wishes = Wishes(options, self.place)
        self.workers = [subprocess.Popen(["sleep", "1000"]) for _ in range(options.workers)]
        self.fence = Fence(self.folder)
        self.iteration, self.state = 0, ""
        self.saved = 0.0  # when

    def tell(self, event, **facts):
        print(json.dumps({"time": time.time(), "event": event, "iteration": self.iteration, "epoch": self.fence.epoch,
                          "pid": os.getpid(), "world": self.place.world, "step": os.environ.get("SLURM_STEP_ID", "batch"), **facts}),
              file=self.events, flush=True)

    def join(self):
        self.group = Group(self.place, self.folder, self.options.timeout)
        if self.place.rank == 0:
            self.fence.take_over(self.place)
        self.fence.epoch = self.group.reduce(self.fence.epoch, lambda parts: parts[0])
        self.load()
        env = {name: value for name, value in os.environ.items() if name.startswith("RAILHEAD_CKPT_")}
        self.tell("start", state=self.state, env=env, node=os.environ.get("SLURMD_NODENAME"))
        if self.place.rank == 0:
            print(f"attempt {self.place.attempt}: {self.place.world} ranks start from iteration {self.iteration}", flush=True)

    def load(self):
        latest = self.folder / LATEST
        if latest.exists():
            self.iteration = int(latest.read_text())
            shard = json.loads((self.checkpoint() / "rank0.json").read_text())
            assert shard["iteration"] == self.iteration, "a checkpoint of mixed steps"
            self.state = shard["state"]

    def checkpoint(self):
        return self.folder / f"iter_{self.iteration:07}"

    def compute(self):
        time.sleep(self.options.step)
        return gradient(self.state, range(self.place.rank, SHARES, self.place.world))

    def fault(self):
        """What goes wrong in the first attempt, where the options say so."""
        if self.place.attempt == 0 and self.place.rank == self.options.fault_rank and self.iteration == self.options.fault_at:
            self.tell("fault", kind=self.options.fault)
            if self.options.fault == "crash":
                os._exit(1)
            while self.options.fault == "hang":
                time.sleep(1)

    def check_workers(self):
        for worker in self.workers:
            if worker.poll() is not None:
                sys.exit(f"rank {self.place.rank}: data loader worker {worker.pid} ended with status {worker.returncode}")

    def agree(self, wish):
        """What all ranks do at the end of this step."""
        if self.options.agree == "none":
            return wish
        return self.group.reduce(wish, self.decide)

    def decide(self, wishes):
        """By rank 0: its clock counts for all, and from any rank a signal, if the options say so."""
        heard = dict(wishes[0])
        for wish in wishes[1:] if self.options.agree == "all" else []:
            heard = {**{key: why for key, why in wish.items() if why.startswith("SIG")}, **heard}
        # Not the signal that a late node gets for the same tick.
        if heard.get("save", "").startswith("SIG") and time.time() - self.saved < self.options.least:
            del heard["save"]
        return heard

    def save(self, why):
        begun, final = time.time(), self.checkpoint()
        temporary = self.folder / f".{final.name}.{self.fence.epoch}"
        temporary.mkdir(exist_ok=True)
        replace(temporary / f"rank{self.place.rank}.json",
                json.dumps({"iteration": self.iteration, "state": self.state, "epoch": self.fence.epoch}))
        time.sleep(self.options.cost)
        self.group.barrier()
        if self.place.rank == 0:
            self.fence.publish(lambda: self.expose(temporary, final))
        self.group.barrier()
        self.saved = time.time()
        self.tell("checkpoint", why=why, seconds=time.time() - begun)

    def expose(self, temporary, final):
        if final.exists():  # an attempt that was ended between the two renames
            for shard in temporary.iterdir():
                os.replace(shard, final / shard.name)
            temporary.rmdir()
        else:
            os.rename(temporary, final)
        replace(self.folder / LATEST, str(self.iteration))

    def train(self):
        while self.iteration < self.options.steps:
            total = self.group.reduce(self.compute(), sum)
            self.iteration += 1
            self.state = advance(self.state, total)
            self.tell("step", state=self.state)
            self.fault()
            self.check_workers()
            heard = self.agree(self.wishes.ask())
            if heard:
                self.save(heard.get("stop") or heard["save"])
            if "stop" in heard:
                self.tell("stop", why=heard["stop"])
                return 0  # as Megatron-LM does: the newest checkpoint tells whether all steps are done
        self.save("end")
        self.tell("end", state=self.state)
        return 0

    def run(self):
        try:
            self.join()
            return self.train()
        except Fenced as error:
            self.tell("fenced", why=str(error))
            return f"rank {self.place.rank}: {error}"
        except PeerLost as error:
            self.tell("lost", why=str(error))
            while self.options.patient:
                time.sleep(1)
            return f"rank {self.place.rank}: another rank is gone: {error}"
        finally:
            for worker in self.workers:
                worker.kill()


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--dir", default="checkpoints")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--step", type=float, default=0.1, help="seconds of one step")
    parser.add_argument("--cost", type=float, default=0.1, help="seconds of one checkpoint")
    parser.add_argument("--interval", type=float, help="seconds, 0: never; default: RAILHEAD_CKPT_INTERVAL")
    parser.add_argument("--signal", default="USR1", help="writes a checkpoint and goes on")
    parser.add_argument("--stop-signal", default="TERM", help="writes a checkpoint and ends")
    parser.add_argument("--agree", choices=["all", "rank0", "none"], default="all", help="whose word counts at the end of a step")
    parser.add_argument("--least", type=float, default=1, help="seconds since a checkpoint, for a signal to count")
    parser.add_argument("--skew", type=float, default=0, help="seconds by which each rank hears later than the one before it")
    parser.add_argument("--workers", type=int, default=0, help="processes of each rank that load data and catch no signal")
    parser.add_argument("--unprepared", action="store_true", help="catch no signal")
    parser.add_argument("--timeout", type=float, default=60, help="seconds to wait for another rank")
    parser.add_argument("--patient", action="store_true", help="wait for a rank that is gone for ever, as NCCL may")
    parser.add_argument("--fault", choices=["crash", "hang"], help="what happens to a rank in the first attempt")
    parser.add_argument("--fault-rank", type=int, default=1)
    parser.add_argument("--fault-at", type=int, default=-1, metavar="ITERATION")
    return parser.parse_args(os.environ.get("TRAINER_OPTIONS", "").split() + sys.argv[1:])


if __name__ == "__main__":
    sys.exit(Trainer(parse_options()).run())
