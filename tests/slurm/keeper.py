"""Owns the processes of one private cluster, and ends all of them when its user is gone.

The rig starts this program and talks to it over stdin and stdout, one JSON object a line.
However the rig's process ends - return, exception, signal, SIGKILL - the pipe closes, and
the keeper then stops what it started, removes the cluster's folder and exits.

The keeper is a *child subreaper*: a slurmstepd or a job process that daemonises is handed to
it and not to init, so "everything that descends from me" stays true and is the whole list of
what has to go.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    """Asks the kernel to kill this process when its parent dies (use between fork and exec)."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def parents():
    """{pid: parent pid} of every process that is not a zombie."""
    table = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):  # ended while we looked
                # The name in parentheses may hold blanks and parentheses itself.
                state, parent = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[:2]
                if state not in "ZX":
                    table[int(entry)] = int(parent)
    return table


def descendants(root):
    """The pids of all living processes below `root`."""
    children = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found, queue = [], [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def wait_until(condition, timeout, interval=0.05):
    """Polls; returns whether the condition came true in time."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(interval)
    return True


def end(select, sig, timeout):
    """Signals the processes that select() gives until it gives none; returns whether that came in time.

    Again and again, since a daemon that is just starting over loses a signal.
    """
    def ended():
        left = select()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sig)
        return not left
    return wait_until(ended, timeout)


class Account:
    """The plain user whose jobs the rigs run: made by the first rig, removed by the last one.

    Every rig holds a shared lock while it needs the user; a user that was there before is left alone.
    """

    COMMENT = "temporary user of a Railhead test cluster"

    def __init__(self, name):
        self.name = name
        self.path = f"/run/{name}.lock"
        self.lock = self.acquire()
        if self.find() is None:
            # Two rigs may both get here; useradd has a lock of its own and the second one fails.
            made = subprocess.run(
                ["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent",
                 "--shell", "/bin/sh", "--comment", self.COMMENT, name],
                capture_output=True, text=True, check=False)
            if self.find() is None:
                self.release()
                raise RuntimeError(f"useradd {name}: {made.stderr.strip()}")

    def acquire(self):
        while True:
            lock = os.open(self.path, os.O_RDONLY | os.O_CREAT, 0o600)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if os.fstat(lock).st_nlink:
                return lock
            os.close(lock)  # the last rig removed the file while we waited

    def find(self):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(self.name)
        return None

    def release(self):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = self.find()
            if found and found.pw_gecos == self.COMMENT:
                subprocess.run(["userdel", self.name], capture_output=True, check=False)
            os.unlink(self.path)
        os.close(self.lock)


class Freezer:
    """The folders that slurmd makes in the freezer of cgroup v1, by the name of the node: slurm_n01.

    Clusters that run at once share them, so none goes before the last cluster does.  The lock is on a file of
    the freezer, which is one even where clusters run in chroots of their own; slurmstepd locks the folder.
    """

    ROOT = Path("/sys/fs/cgroup/freezer")

    def __init__(self):
        self.lock = os.open(self.ROOT / "release_agent", os.O_RDONLY)
        fcntl.flock(self.lock, fcntl.LOCK_SH)

    def release(self, jobs):
        """Removes the folders of the jobs with these numbers, and all of them where nobody else needs any."""
        for folder in self.ROOT.glob("slurm_n*/uid_*/job_*"):
            if int(folder.name.removeprefix("job_")) in jobs:
                self.remove(folder)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for folder in self.ROOT.glob("slurm_n*"):
                self.remove(folder)
        os.close(self.lock)

    @staticmethod
    def remove(folder):
        for path, _, _ in os.walk(folder, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(path)


class Keeper:
    def __init__(self):
        self.daemons = {}  # name -> pid, in order of start
        self.ended = {}  # pid -> exit status, as a shell would say it
        self.folder = None
        self.freezer, self.jobs = None, range(0)
        self.account = None

    def reap(self, *_):
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                self.ended[pid] = os.waitstatus_to_exitcode(status)

    # -- requests ---------------------------------------------------------------------------

    def adopt(self, folder, user, freezer):
        """From now on the folder, our share of `user` and of the freezer are ours to remove."""
        self.folder = folder
        self.account = Account(user)
        self.freezer = Freezer() if freezer else None

    def number_jobs(self, first, count):
        """Says which numbers the cluster's jobs have."""
        self.jobs = range(first, first + count)

    def start(self, name, argv, env, user, output):
        with open(output, "ab") as log:
            account = pwd.getpwnam(user)
            process = subprocess.Popen(
                argv, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                user=account.pw_uid, group=account.pw_gid, extra_groups=[],
                start_new_session=True, preexec_fn=die_with_parent)
        self.daemons[name] = process.pid
        return process.pid

    def stop(self, name, sig, timeout):
        """Ends one daemon (its steps live on); SIGKILL when it takes longer than `timeout`."""
        pid = self.daemons.pop(name)

        def running():
            return {pid} & set(parents())
        end(running, sig, timeout) or end(running, signal.SIGKILL, 5)

    def status(self, name):
        """The exit status of a daemon, or null while it runs."""
        return self.ended.get(self.daemons[name])

    # -- the end ----------------------------------------------------------------------------

    def is_daemon(self, pid):
        # Slurm >= 23.11 replaces a daemon's process at reconfigure: go by the name as well.
        with contextlib.suppress(OSError):
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            return pid in self.daemons.values() or name in ("slurmctld", "slurmscriptd", "slurmd")
        return False

    def stop_all(self):
        munged = self.daemons.get("munged")

        def steps():
            return [pid for pid in descendants(os.getpid()) if not self.is_daemon(pid)]

        def all_but_munged():
            return [pid for pid in descendants(os.getpid()) if pid != munged]
        end(steps, signal.SIGKILL, 10)  # slurmd lets them live on by design
        end(all_but_munged, signal.SIGTERM, 3) or end(all_but_munged, signal.SIGKILL, 10)
        # Last, since the others cannot say goodbye without it.
        end(lambda: descendants(os.getpid()), signal.SIGTERM, 2) or end(lambda: descendants(os.getpid()), signal.SIGKILL, 10)

    def clean_up(self):
        self.stop_all()
        if self.freezer:
            self.freezer.release(self.jobs)
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.account:
            self.account.release()


def main():
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    keeper = Keeper()
    signal.signal(signal.SIGCHLD, keeper.reap)

    def leave(*_):
        raise SystemExit
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sig, leave)

    try:
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = {"ok": getattr(keeper, request.pop("do"))(**request)}
            except Exception as error:  # the rig decides what it means
                answer = {"error": f"{error}"}
            print(json.dumps(answer), flush=True)
    except (BrokenPipeError, SystemExit):
        pass
    finally:
        for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(sig, signal.SIG_IGN)
        keeper.clean_up()


if __name__ == "__main__":
    main()
