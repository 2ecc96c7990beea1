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
import json
import os
import pwd
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from keeper import wait_until
from rig_config import Configuration, Nodes, tree
from rig_machine import CommandError, RigError, closed_to_others, free_ports, has_freezer, slurm_version, tail
from rig_nodes import MortalNodes
from rig_use import PATH, Job, Use

__all__ = ["PATH", "CommandError", "Job", "Nodes", "Rig", "RigError", "has_freezer", "slurm_version"]

USER = "railhead-test"
KEEPER = Path(__file__).with_name("keeper.py")


class Rig(Use, MortalNodes, Configuration):
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
