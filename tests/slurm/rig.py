"""A private, real Slurm cluster on this machine.

    with Rig(nodes=8, leaves=2) as rig:
        job = rig.sbatch("#!/bin/sh\nsrun hostname\n", "-N2")
        rig.wait_job(job)
        print(job.output())

munged, slurmctld and one slurmd a node run in a folder of their own, on free ports, with a key
of their own; nothing of the machine's Slurm is used but its programs.  The nodes are made up
(64 CPUs and 8 GPUs each, where the GPUs are terminals), the daemons, steps and credentials are
not.  Works unchanged on Slurm 22.05 to 26.05.  Needs root.

As a command, for experiments:  /usr/bin/python3 tests/slurm/rig.py up --nodes 8 --leaves 2
"""

import argparse
import contextlib
import dataclasses
import glob
import json
import os
import pwd
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from keeper import Freezer, descendants, die_with_parent, end, wait_until

USER = "railhead-test"
KEEPER = Path(__file__).with_name("keeper.py")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FINISHED = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
            "PREEMPTED", "TIMEOUT"}


class RigError(Exception):
    """The cluster did not do what it was told; the message names the step."""


class CommandError(RigError):
    """A command ended with an error (`status`, `stdout`, `stderr`)."""

    def __init__(self, command, result):
        self.status, self.stdout, self.stderr = result.returncode, result.stdout, result.stderr
        super().__init__(f"{command}: exit status {self.status}\n{self.stdout}{self.stderr}")


@dataclasses.dataclass(frozen=True)
class Nodes:
    """A run of equal nodes."""

    count: int
    gpus: int = 8
    gpu_type: str = "h100"
    sockets: int = 2
    cores: int = 32  # per socket
    threads: int = 1  # per core
    memory: int = 1_000_000  # MiB
    features: str = ""

    @property
    def cpus(self):
        return self.sockets * self.cores * self.threads


@dataclasses.dataclass(frozen=True)
class Job:
    """A job that sbatch accepted, or refused (`id` is then None)."""

    id: int | None
    stdout: str
    stderr: str  # what the user was told, Railhead's notes among it
    script: Path

    def output(self):
        """What the job has printed so far (stdout and stderr), for jobs that keep sbatch's default file."""
        path = self.script.parent / f"slurm-{self.id}.out"
        return path.read_text() if path.exists() else ""


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


def tree(leaves, names):
    """topology.conf: the nodes dealt to `leaves` switches in equal runs, one spine above."""
    size = -(-len(names) // leaves)
    lines = [f"SwitchName=leaf{leaf + 1} Nodes={','.join(names[leaf * size:(leaf + 1) * size])}" for leaf in range(leaves)]
    return "\n".join([*lines, f"SwitchName=spine Switches=leaf[1-{leaves}]", ""])


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


class Rig:
    """See the top of this file.  Everything that can differ between two clusters is a parameter.

    nodes       a number, or a list of Nodes; other keywords of Nodes (gpus=4) go with a number
    leaves      topology/tree with this many leaf switches; or `topology`: the text of topology.conf
                (tree or block) for anything else
    partitions  text for slurm.conf
    plugins     folder that holds our .so files; job_submit and plugstack then say which are used
    job_submit  the line JobSubmitPlugins=railhead is written
    plugstack   text of plugstack.conf; "{plugins}", "{etc}" and "{run}", which stands for /run, are replaced
    policy      text of railhead.toml, beside slurm.conf; None: no such file
    files       {name: text} of more files beside slurm.conf
    extra       more lines for slurm.conf (a later line wins over ours)
    scheduler   SchedulerParameters
    env         more environment for slurmctld
    cloud       nodes only exist in slurmctld: placement is real, nothing runs, 10,000 nodes are fine
    proctrack   "linuxproc", or "cgroup" (freezer of cgroup v1, see has_freezer())
    node_timeout  seconds after which a silent node is DOWN; its jobs are then requeued, and start soon
    grace       seconds that a preempted job has; there is then a partition "urgent" that preempts the others
    enforce     AccountingStorageEnforce; there are then a database, slurmdbd, and the account "lab" with the user
    folder      where; default is a new folder below the temporary one
    """

    def __init__(self, nodes=8, *, leaves=0, topology=None, partitions=None, plugins=None, job_submit=False,
                 plugstack="", policy=None, files=None, extra="", scheduler="bf_interval=1,sched_interval=2",
                 select="CR_Core", env=None, cloud=False, proctrack="linuxproc", node_timeout=None,
                 grace=None, enforce="", folder=None, user=USER, **node):
        self.nodes = [Nodes(nodes, **node)] if isinstance(nodes, int) else list(nodes)
        self.partitions = partitions or "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
        self.node_timeout, self.grace = node_timeout, grace
        self.plugins = Path(plugins).resolve() if plugins else None
        self.job_submit, self.plugstack, self.policy = job_submit, plugstack, policy
        self.files = dict(files or {})
        self.extra, self.scheduler, self.select = extra, scheduler, select
        self.env, self.cloud, self.proctrack, self.enforce = dict(env or {}), cloud, proctrack, enforce
        self.folder = Path(folder).absolute() if folder else None
        self.user = user
        self.version = slurm_version()
        self.release = "{}.{:02}.{}".format(*self.version)
        self.keeper = None
        self.scripts = 0

        total = sum(group.count for group in self.nodes)
        width = max(2, len(str(total)))
        self.names = [f"n{i:0{width}}" for i in range(1, total + 1)]
        self.topology = topology or (tree(leaves, self.names) if leaves else None)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    # -- up and down ------------------------------------------------------------------------

    def start(self):
        """Starts the cluster; returns when every node is idle."""
        if os.geteuid() != 0:
            raise RigError("start a cluster: needs root")
        for attempt in range(3):
            try:
                self._start()
                return self
            except RigError as error:
                self.stop()
                if "Address already in use" not in str(error) or attempt == 2:
                    raise
            except BaseException:
                self.stop()
                raise

    def _start(self):
        self._make_folder()
        self.port = free_ports(2 + (0 if self.cloud else len(self.names)))  # slurmctld, slurmdbd, each slurmd
        self._write_config()
        self._start_munged()
        if self.enforce:
            self._start_accounting()
        self.start_slurmctld()
        if not self.cloud:
            for name in self.names:
                self.start_slurmd(name)
            self._wait_for_nodes()

    def stop(self):
        """Ends every process and removes every file; safe to call twice."""
        if self.keeper is None:
            return
        keeper, self.keeper = self.keeper, None
        keeper.stdin.close()  # this is the signal
        try:
            keeper.wait(timeout=30)
        finally:
            keeper.stdout.close()

    def _make_folder(self):
        made = self.folder or Path(tempfile.mkdtemp(prefix="railhead-rig-"))
        made.mkdir(parents=True, exist_ok=True)
        if any(made.iterdir()):
            raise RigError(f"make the cluster's folder: {made} is not empty")
        self.dir, self.etc, self.logs, self.work = made, made / "etc", made / "log", made / "work"
        self.keeper = subprocess.Popen(
            [sys.executable, KEEPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self._keep("adopt", step=f"make the user {self.user}", folder=str(made), user=self.user, freezer=self.proctrack == "cgroup")

        made.chmod(0o755)
        if barrier := closed_to_others(made):
            raise RigError(f"make the cluster's folder: {self.user} cannot enter {barrier}")
        if self.plugins and closed_to_others(self.plugins):  # a checkout in root's home
            self.plugins = Path(shutil.copytree(self.plugins, made / "plugins"))
        self.run_dir = made / "run"
        for folder in (self.etc, self.logs, self.work, self.run_dir, made / "state", made / "spool", made / "munge"):
            folder.mkdir()
        account = pwd.getpwnam(self.user)
        os.chown(self.work, account.pw_uid, account.pw_gid)
        shutil.chown(made / "munge", "munge", "munge")

    def _keep(self, request, *, step=None, **arguments):
        """Has the keeper do something (`step`, in an error's words); returns its answer."""
        self.keeper.stdin.write(json.dumps({"do": request, **arguments}) + "\n")
        self.keeper.stdin.flush()
        answer = json.loads(self.keeper.stdout.readline() or '{"error": "the keeper is gone"}')
        if "error" in answer:
            raise RigError(f"{step or request}: {answer['error']}")
        return answer["ok"]

    def _daemon(self, name, argv, ready, env=None, user="root", timeout=30):
        """Starts one daemon and waits until it is `ready`; its last words are in the error if it is not."""
        argv = [str(word) for word in argv]
        base = {"PATH": PATH, "LANG": "C.UTF-8", "SLURM_CONF": str(self.conf)}
        self._keep("start", step=f"start {name}", name=name, argv=argv, env={**base, **(env or {})}, user=user,
                   output=str(self.logs / f"{name}.out"))
        status = None

        def settled():
            nonlocal status
            status = self._keep("status", name=name)
            return status is not None or ready()
        if not wait_until(settled, timeout) or status is not None:
            ended = f"ended with status {status}" if status is not None else f"not ready after {timeout} s"
            raise RigError(f"start {name}: {ended}\n{tail(self.log(name))}")

    def _start_munged(self):
        folder = self.dir / "munge"
        key = folder / "munge.key"
        key.write_bytes(random.randbytes(128))
        key.chmod(0o600)
        shutil.chown(key, "munge", "munge")
        self._daemon("munged", [
            "munged", "--foreground", f"--key-file={key}", f"--socket={self.munge_socket}",
            f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed"],
            ready=self.munge_socket.exists, user="munge")

    def _start_accounting(self):
        data, socket = self.dir / "database", self.dir / "database.sock"
        data.mkdir()
        mariadbd = ["mariadbd", "--no-defaults", "--user=root", f"--datadir={data}"]
        # slurmdbd's stored procedures need the system tables, and mariadb-install-db more packages.
        tables = next(path for path in ("/usr/share/mariadb", "/usr/share/mysql") if os.path.exists(path))
        made = subprocess.run([*mariadbd, "--bootstrap"], capture_output=True, text=True, check=False, input="\n".join(
            ["create database mysql;", "use mysql;", Path(tables, f"{os.path.basename(tables)}_system_tables.sql").read_text()]))
        if made.returncode:
            raise RigError(f"make the database: {tail(made.stderr)}")
        # No rights are asked for: the socket is in our folder, and there is no port.
        self._daemon("mariadbd", [*mariadbd, "--skip-networking", "--skip-grant-tables", f"--socket={socket}",
                                  f"--pid-file={self.dir}/mariadbd.pid"], ready=socket.exists)
        conf = self.etc / "slurmdbd.conf"
        conf.write_text("\n".join([
            "AuthType=auth/munge", f"AuthInfo=socket={self.munge_socket}", "DbdHost=localhost", f"DbdPort={self.port + 1}",
            "SlurmUser=root", "StorageType=accounting_storage/mysql", "StorageHost=localhost", "StorageUser=root",
            f"LogFile={self.logs}/slurmdbd.log", f"PidFile={self.dir}/slurmdbd.pid", ""]))
        conf.chmod(0o600)

        def sacctmgr(*words):
            return subprocess.run(["sacctmgr", "-i", *words], env=self.environment("root"), capture_output=True, text=True, check=False)
        self._daemon("slurmdbd", ["slurmdbd", "-D"], lambda: sacctmgr("show", "cluster").returncode == 0,
                     env={"MYSQL_UNIX_PORT": str(socket)})
        for what in (["cluster", "rig"], ["account", "lab"], ["user", self.user, "account=lab"]):
            if (added := sacctmgr("add", *what)).returncode:
                raise RigError(f"add {' '.join(what)} to slurmdbd: {tail(added.stdout + added.stderr)}")

    def start_slurmctld(self):
        def ready():
            # Short of patience: somebody else may have the port, and say nothing.
            with contextlib.suppress(subprocess.TimeoutExpired):
                return subprocess.run(["scontrol", "ping"], env=self.environment("root"), capture_output=True, check=False,
                                      timeout=1).returncode == 0
            return False
        self._daemon("slurmctld", ["slurmctld", "-D"], ready, env=self.env)

    def start_slurmd(self, name):
        self._daemon(name, ["slurmd", "-D", "-N", name], ready=lambda: True)

    def stop_daemon(self, name, sig=signal.SIGTERM, timeout=10):
        """Ends slurmctld or the slurmd of node `name`; steps live on."""
        self._keep("stop", name=name, sig=int(sig), timeout=timeout)

    # -- nodes that die -----------------------------------------------------------------------

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

    # -- configuration ----------------------------------------------------------------------

    @property
    def conf(self):
        return self.etc / "slurm.conf"

    @property
    def munge_socket(self):
        return self.dir / "munge" / "socket"

    def _write_config(self):
        (self.etc / "slurm.conf").write_text(self._slurm_conf())
        (self.etc / "gres.conf").write_text(self._gres_conf())
        (self.etc / "plugstack.conf").write_text(self.plugstack.format(plugins=self.plugins, etc=self.etc, run=self.run_dir))
        if self.proctrack == "cgroup" or self.version >= (23, 11):
            (self.etc / "cgroup.conf").write_text(self._cgroup_conf())
        if self.topology is not None:
            (self.etc / "topology.conf").write_text(self.topology)
        if self.policy is not None:
            (self.etc / "railhead.toml").write_text(self.policy)
        for name, text in self.files.items():
            (self.etc / name).write_text(text)

    def _slurm_conf(self):
        plugin_dir = ":".join(filter(None, [str(self.plugins or ""), stock_plugin_dir()]))
        lines = [
            "ClusterName=rig",
            "SlurmctldHost=localhost",
            f"SlurmctldPort={self.port}",
            "AuthType=auth/munge",
            f"AuthInfo=socket={self.munge_socket}{',cred_expire=5' if self.node_timeout else ''}",
            "SlurmUser=root",
            "SlurmdUser=root",
            f"PluginDir={plugin_dir}",
            f"PlugStackConfig={self.etc}/plugstack.conf",
            f"StateSaveLocation={self.dir}/state",
            f"SlurmdSpoolDir={self.dir}/spool/%n",
            f"SlurmctldPidFile={self.dir}/slurmctld.pid",
            f"SlurmdPidFile={self.dir}/%n.pid",
            f"SlurmctldLogFile={self.logs}/slurmctld.log",
            f"SlurmdLogFile={self.logs}/%n.log",
            "SlurmctldDebug=debug",
            "SlurmdDebug=debug",
            f"ProctrackType=proctrack/{self.proctrack}",
            "TaskPlugin=task/affinity",
            "SelectType=select/cons_tres",
            f"SelectTypeParameters={self.select}",
            f"SchedulerParameters={self.scheduler}",
            "MpiDefault=none",
            "ReturnToService=2",
            "KillWait=2",
            # Our node lines win over what slurmd sees of the real machine.
            "SlurmdParameters=config_overrides",
        ]
        if any(group.gpus for group in self.nodes):
            lines.append("GresTypes=gpu")
        if self.topology is not None:
            lines.append(f"TopologyPlugin=topology/{'block' if 'BlockName' in self.topology else 'tree'}")
        if self.job_submit:
            lines.append("JobSubmitPlugins=railhead")
        if self.enforce:
            lines += ["AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageHost=localhost",
                      f"AccountingStoragePort={self.port + 1}", f"AccountingStoragePass={self.munge_socket}",
                      f"AccountingStorageEnforce={self.enforce}", "AccountingStorageTRES=gres/gpu"]
        if self.cloud:
            lines += ["ResumeProgram=/bin/true", "SuspendProgram=/bin/true", "SuspendTime=36000", "ResumeTimeout=36000"]
        if self.proctrack == "cgroup":
            # The freezer's folders are named by node, user and job: keep clear of another cluster's.
            self._keep("number_jobs", first=self.port * 100, count=100 * (2 + len(self.names)))
            lines.append(f"FirstJobId={self.port * 100}")
        if self.node_timeout:
            # A node is asked once in a third of the first, and waited for as long as the second says.  A job that
            # was requeued starts when the credential of its last start has expired: see cred_expire.
            lines += [f"SlurmdTimeout={self.node_timeout}", "MessageTimeout=3"]
        partitions = [self.partitions]
        if self.grace is not None:
            lines += ["PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE"]
            partitions = [f"PartitionName=DEFAULT PriorityTier=1 GraceTime={self.grace}", self.partitions,
                          "PartitionName=urgent Nodes=ALL Default=NO PriorityTier=2 PreemptMode=OFF MaxTime=INFINITE State=UP"]
        lines += [self.extra, *self._node_lines(), *partitions, ""]
        return "\n".join(lines)

    def _runs(self):
        """(group, first name, last name, first port) of each run of equal nodes."""
        done = 0
        for group in self.nodes:
            names = self.names[done:done + group.count]
            yield group, f"n[{names[0][1:]}-{names[-1][1:]}]", self.port + 2 + done
            done += group.count

    def _node_lines(self):
        for group, names, port in self._runs():
            line = (f"NodeName={names} CPUs={group.cpus} Sockets={group.sockets} CoresPerSocket={group.cores} "
                    f"ThreadsPerCore={group.threads} RealMemory={group.memory}")
            if group.gpus:
                line += f" Gres=gpu:{group.gpu_type}:{group.gpus}"
            if group.features:
                line += f" Feature={group.features}"
            if self.cloud:
                yield f"{line} State=CLOUD"
            else:
                yield f"{line} NodeHostname=localhost Port=[{port}-{port + group.count - 1}]"

    def _gres_conf(self):
        def files(group):
            return "" if self.cloud else f" File=/dev/tty[0-{group.gpus - 1}]"
        return "".join(f"NodeName={names} Name=gpu Type={group.gpu_type} Count={group.gpus}{files(group)}\n"
                       for group, names, _ in self._runs() if group.gpus)

    def _cgroup_conf(self):
        if self.proctrack != "cgroup":
            return "CgroupPlugin=disabled\n"
        if self.version < (22, 11):
            return "CgroupMountpoint=/sys/fs/cgroup\nCgroupAutomount=no\n"
        return "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n"

    # -- use --------------------------------------------------------------------------------

    def environment(self, user=None):
        """A clean environment: what the test runner inherited reaches no job."""
        user = user or self.user
        return {"PATH": PATH, "LANG": "C.UTF-8", "HOME": "/root" if user == "root" else str(self.work), "USER": user,
                "LOGNAME": user, "SHELL": "/bin/sh", "SLURM_CONF": str(self.conf)}

    def popen(self, command, *, user=None, env=None, cwd=None, **options):
        """Starts a command (a string for the shell, or a list) as the plain user, in its work folder."""
        account = pwd.getpwnam(user or self.user)
        if isinstance(command, str):
            command = ["/bin/sh", "-c", command]
        return subprocess.Popen(
            [str(word) for word in command], env={**self.environment(user), **(env or {})}, cwd=cwd or self.work, text=True,
            user=account.pw_uid, group=account.pw_gid, extra_groups=[], start_new_session=True,
            preexec_fn=die_with_parent, **options)

    def run(self, command, *, user=None, env=None, cwd=None, input=None, timeout=60, check=True):
        """Runs a command; returns a CompletedProcess, or raises CommandError."""
        stdin = {"stdin": subprocess.DEVNULL} if input is None else {"stdin": subprocess.PIPE}
        with self.popen(command, user=user, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **stdin) as process:
            try:
                out, err = process.communicate(input, timeout)
            except BaseException as error:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise RigError(f"{command}: still running after {timeout} s\n{tail(self.log('slurmctld'))}") from None
                raise
        result = subprocess.CompletedProcess(command, process.returncode, out, err)
        if check and result.returncode != 0:
            raise CommandError(command if isinstance(command, str) else shlex.join(map(str, command)), result)
        return result

    def sbatch(self, script, *options, user=None, env=None, check=True):
        """Submits a script (its text) from a file in the work folder; returns a Job."""
        self.scripts += 1
        path = self.work / f"script{self.scripts}.sbatch"
        path.write_text(script)
        path.chmod(0o755)
        result = self.run(["sbatch", *options, path], user=user, env=env, check=check)
        found = re.search(r"Submitted batch job (\d+)", result.stdout)
        return Job(int(found[1]) if found else None, result.stdout, result.stderr, path)

    def job_infos(self, job):
        """`scontrol show job` as dictionaries: one for each array task or component of a het job."""
        out = self.run(["scontrol", "-o", "show", "job", str(job.id if isinstance(job, Job) else job)], user="root").stdout
        # Values may hold blanks and "="; the next key follows a blank.
        infos = [dict(part.split("=", 1) for part in re.split(r"\s+(?=[A-Z][\w/:]*=)", line.strip()) if "=" in part)
                 for line in out.splitlines() if line.strip()]
        for info in infos:
            # 26.05 tells by Exclusive= what OverSubscribe=NO meant before.
            if info.get("Exclusive") == "NO" and info["OverSubscribe"] == "NO":
                info["OverSubscribe"] = "OK"
        return infos

    def job_info(self, job):
        return self.job_infos(job)[0]

    def wait_job(self, job, timeout=60, states=FINISHED):
        """Waits until the job is in one of `states`; returns its job_info()."""
        info = {}

        def reached():
            nonlocal info
            info = self.job_info(job)
            return info["JobState"] in states
        if not wait_until(reached, timeout, 0.1):
            raise RigError(f"wait for job {info['JobId']}: {info['JobState']} ({info['Reason']}) after {timeout} s, not in "
                           f"{sorted(states)}\n{tail(self.log('slurmctld'))}\n{self._node_errors()}")
        return info

    def _node_errors(self):
        """What the nodes complained of last."""
        return "\n".join(f"{name}: {tail(complaints, 3)}" for name in self.names[:0 if self.cloud else None]
                         if (complaints := "\n".join(line for line in self.log(name).splitlines() if "error" in line)))

    def log(self, name):
        """The log of slurmctld, munged or a node, and what the daemon said only on its standard error."""
        def read(path):
            return path.read_text(errors="replace") if path.exists() else ""
        text = read(self.dir / "munge" / "munged.log" if name == "munged" else self.logs / f"{name}.log")
        for line in read(self.logs / f"{name}.out").splitlines():
            if re.sub(r"^slurm(ctld|d): ", "", line) not in text:
                text += line + "\n"
        return text

    def reconfigure(self):
        self.run(["scontrol", "reconfigure"], user="root")

    def hostnames(self, hostlist):
        """"n[01-02]" -> ["n01", "n02"]"""
        return self.run(["scontrol", "show", "hostnames", hostlist], user="root").stdout.split()


# -- the command ----------------------------------------------------------------------------


def parse_arguments():
    parser = argparse.ArgumentParser(prog="rig.py", description="A private, real Slurm cluster on this machine.")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start a cluster and keep it until Ctrl-C or SIGTERM")
    up.add_argument("--nodes", type=int, default=8)
    up.add_argument("--gpus", type=int, default=8, help="per node")
    up.add_argument("--sockets", type=int, default=2)
    up.add_argument("--cores", type=int, default=32, help="per socket")
    up.add_argument("--leaves", type=int, default=0, help="leaf switches; 0: no topology")
    up.add_argument("--topology", type=Path, help="a topology.conf")
    up.add_argument("--partitions", help="partition lines of slurm.conf")
    up.add_argument("--plugins", type=Path, help="folder of job_submit_railhead.so and spank_railhead.so")
    up.add_argument("--job-submit", action="store_true", help="load job_submit_railhead.so")
    up.add_argument("--plugstack", default="", help="text of plugstack.conf; {plugins}, {etc} and {run} are replaced")
    up.add_argument("--policy", type=Path, help="a railhead.toml")
    up.add_argument("--extra", action="append", default=[], help="a line for slurm.conf")
    up.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="environment of slurmctld")
    up.add_argument("--scheduler", default="bf_interval=1,sched_interval=2", help="SchedulerParameters")
    up.add_argument("--cloud", action="store_true", help="nodes only exist in slurmctld")
    up.add_argument("--proctrack", choices=["linuxproc", "cgroup"], default="linuxproc")
    up.add_argument("--dir", type=Path, help="an empty or new folder")
    return parser.parse_args()


def main():
    arguments = parse_arguments()

    def leave(*_):
        raise SystemExit(0)
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sig, leave)
    try:
        rig = Rig(arguments.nodes, gpus=arguments.gpus, sockets=arguments.sockets, cores=arguments.cores,
                  leaves=arguments.leaves, topology=arguments.topology and arguments.topology.read_text(),
                  partitions=arguments.partitions, plugins=arguments.plugins, job_submit=arguments.job_submit,
                  plugstack=arguments.plugstack + "\n", policy=arguments.policy and arguments.policy.read_text(),
                  extra="\n".join(arguments.extra), env=dict(pair.split("=", 1) for pair in arguments.env),
                  scheduler=arguments.scheduler, cloud=arguments.cloud, proctrack=arguments.proctrack, folder=arguments.dir)
        begun = time.monotonic()
        with rig:
            print(f"# Slurm {rig.release}, {len(rig.names)} nodes, up in {time.monotonic() - begun:.1f} s")
            print(f"# plain user: {rig.user}, work folder {rig.work}; logs in {rig.logs}")
            print(f"export SLURM_CONF={rig.conf}", flush=True)
            while True:
                signal.pause()
    except (RigError, OSError) as error:
        sys.exit(f"rig: {error}")


if __name__ == "__main__":
    main()
