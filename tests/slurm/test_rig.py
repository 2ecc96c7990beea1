"""The private clusters themselves: what the other tests stand on."""

import glob
import pwd
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import rig as rig_module
from conftest import needs_freezer
from keeper import Freezer, descendants, parents, wait_until
from rig import CommandError, Nodes, Rig, RigError, slurm_version

RIG = Path(rig_module.__file__)
FREEZER = Freezer.ROOT

# Leaves the step and slurmd's process group as a daemon does.
ESCAPE = "#!/bin/sh\nsetsid sh -c 'sleep 1000 & sleep 1001' </dev/null >/dev/null 2>&1 &\nsleep 1000\n"


@pytest.fixture(scope="module")
def stock():
    with Rig(2) as rig:
        yield rig


def alive(pids):
    return set(pids) & set(parents())


def test_a_job_runs_as_the_plain_user_and_sees_its_gpus(stock):
    job = stock.sbatch("#!/bin/sh\nsrun sh -c 'echo $(id -un) $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES'\n", "-N2", "--gres=gpu:8")

    info = stock.wait_job(job)

    assert info["JobState"] == "COMPLETED"
    assert info["UserId"].startswith(f"{stock.user}(") and stock.user != "root"
    assert sorted(job.output().splitlines()) == [f"{stock.user} n0{i} 0,1,2,3,4,5,6,7" for i in (1, 2)]


def test_a_job_may_write_in_the_work_folder(stock):
    job = stock.sbatch("#!/bin/sh\necho hello >$HOME/written\n")

    assert stock.wait_job(job)["JobState"] == "COMPLETED"
    assert (stock.work / "written").read_text() == "hello\n"


def test_commands_do_not_inherit_the_test_runners_environment(stock, monkeypatch):
    monkeypatch.setenv("SBATCH_PARTITION", "nowhere")

    assert "SBATCH_PARTITION" not in stock.run("env").stdout
    assert stock.run("echo $FRUIT", env={"FRUIT": "pear"}).stdout == "pear\n"


def test_a_command_that_fails_tells_what_it_said(stock):
    with pytest.raises(CommandError, match="invalid partition"):
        stock.sbatch("#!/bin/sh\n", "--partition=nowhere")
    assert stock.sbatch("#!/bin/sh\n", "--partition=nowhere", check=False).id is None


def test_a_command_that_hangs_is_ended(stock):
    with pytest.raises(RigError, match="still running after 1 s"):
        stock.run("sleep 1003 & sleep 1003", timeout=1)

    assert wait_until(lambda: not subprocess.run(["pgrep", "-f", "^sleep 1003"], check=False, stdout=subprocess.PIPE).stdout, 5)


def test_job_infos_gives_each_array_task(stock):
    job = stock.sbatch("#!/bin/sh\n", "--array=1-3", "--comment=two words")

    infos = stock.job_infos(job)
    assert {info["ArrayJobId"] for info in infos} == {str(job.id)}
    assert infos[0]["Comment"] == "two words"


def test_reconfigure_and_a_restart_of_the_controller_are_survived(stock):
    stock.reconfigure()
    stock.stop_daemon("slurmctld")
    stock.start_slurmctld()

    job = stock.sbatch("#!/bin/sh\nsrun hostname\n", "-N2")
    assert stock.wait_job(job)["JobState"] == "COMPLETED"


@pytest.mark.parametrize("proctrack", ["linuxproc", pytest.param("cgroup", marks=needs_freezer)])
def test_nothing_is_left(proctrack):
    mounts = Path("/proc/mounts").read_text()
    rig = Rig(2, proctrack=proctrack, user="railhead-leaver").start()
    job = rig.sbatch(ESCAPE, "-N2")
    rig.wait_job(job, states={"RUNNING"})
    assert wait_until(lambda: "sleep" in {name(pid) for pid in descendants(rig.keeper.pid)}, 10)
    processes = [rig.keeper.pid, *descendants(rig.keeper.pid)]
    assert {"munged", "slurmctld", "slurmd"} <= {name(pid) for pid in processes}
    ports = range(rig.port, rig.port + 4)

    rig.stop()

    assert not alive(processes)
    assert not rig.dir.exists()
    assert Path("/proc/mounts").read_text() == mounts
    assert not Path("/run/railhead-leaver.lock").exists()
    assert not glob.glob(f"{FREEZER}/**/job_{job.id}", recursive=True)
    with pytest.raises(KeyError):
        pwd.getpwnam("railhead-leaver")
    for port in ports:
        socket.create_server(("", port)).close()


@needs_freezer
def test_a_cluster_that_ends_leaves_the_freezer_to_those_that_go_on():
    with Rig(1, proctrack="cgroup") as going_on:
        assert going_on.run(["srun", "id", "-un"]).stdout == f"{going_on.user}\n"
        with Rig(1, proctrack="cgroup") as ending:
            assert ending.run(["srun", "id", "-un"]).stdout == f"{ending.user}\n"
        assert FREEZER.joinpath("slurm_n01").is_dir()
        assert going_on.run(["srun", "id", "-un"]).stdout == f"{going_on.user}\n"


# -- nodes that die -----------------------------------------------------------------------------

# The second process has left its step's process tree.
SLEEPERS = "#!/bin/sh\nsrun sh -c 'setsid sleep 1000 & sleep 1001; sleep 1002'\n"


@pytest.fixture(scope="module")
def mortal():
    with Rig(3, gpus=0, proctrack="cgroup", node_timeout=6, grace=3) as rig:
        yield rig


@needs_freezer
def test_a_node_that_dies_takes_all_it_ran_with_it_and_its_job_starts_anew_elsewhere(mortal):
    job = mortal.sbatch(SLEEPERS, "-N2", "--requeue")
    assert mortal.wait_job(job, states={"RUNNING"})["NodeList"] == "n[01-02]"
    assert wait_until(lambda: [name(pid) for pid in mortal.processes_of("n02")].count("sleep") == 2, 10)
    dying = mortal.processes_of("n02")
    assert {"slurmd", "slurmstepd"} <= {name(pid) for pid in dying}
    others = mortal.processes_of("n01") | mortal.processes_of("n03")

    mortal.kill_node("n02")

    assert not alive(dying) and alive(others)
    assert wait_until(lambda: mortal.job_info(job)["Restarts"] == "1", 40)
    assert mortal.wait_job(job, states={"RUNNING"})["NodeList"] == "n[01,03]"
    mortal.run(["scancel", str(job.id)])
    mortal.wait_job(job)
    mortal.revive_nodes()


@needs_freezer
def test_a_slurmd_that_dies_alone_leaves_its_steps_alive(mortal):
    job = mortal.sbatch(SLEEPERS, "-N1", "--requeue")
    mortal.wait_job(job, states={"RUNNING"})
    assert wait_until(lambda: [name(pid) for pid in mortal.processes_of("n01")].count("sleep") == 2, 10)
    steps = {pid for pid in mortal.processes_of("n01") if name(pid) != "slurmd"}

    mortal.kill_slurmd("n01")

    assert alive(steps) == steps
    mortal.start_slurmd("n01")
    mortal.run(["scancel", str(job.id)])
    mortal.wait_job(job)
    assert wait_until(lambda: not alive(steps), 10)
    mortal.revive_nodes()


@needs_freezer
def test_an_urgent_job_preempts_another_which_is_requeued(mortal):
    # A job that the SIGTERM at the begin of its grace ends has failed, and is not requeued.
    job = mortal.sbatch("#!/bin/sh\ntrap '' TERM\nsleep 1000\n", "-N3", "--requeue", "--exclusive")
    mortal.wait_job(job, states={"RUNNING"})

    urgent = mortal.sbatch("#!/bin/sh\nsleep 1\n", "-N3", "--exclusive", "-p", "urgent")

    mortal.wait_job(urgent)
    assert wait_until(lambda: mortal.job_info(job)["Restarts"] == "1", 20)
    mortal.run(["scancel", str(job.id)])


def name(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "(ended)"


def test_an_exception_ends_the_cluster():
    with pytest.raises(ZeroDivisionError), Rig(1) as rig:
        processes = [rig.keeper.pid, *descendants(rig.keeper.pid)]
        1 / 0

    assert not alive(processes) and not rig.dir.exists()


def up(folder):
    """The command, running a cluster with a job that escapes its step."""
    command = subprocess.Popen([sys.executable, RIG, "up", "--nodes=1", f"--dir={folder}"], stdout=subprocess.PIPE, text=True)
    for line in command.stdout:
        if line.startswith("export SLURM_CONF="):
            return command, descendants(command.pid)
    raise AssertionError("rig.py up ended")


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_command_cleans_up_when_signalled(sig):
    folder = Path("/tmp/railhead-rig-signalled")
    command, processes = up(folder)

    command.send_signal(sig)

    assert command.wait(20) == 0
    command.stdout.close()
    assert not alive(processes) and not folder.exists()


def test_everything_ends_even_when_the_owner_is_killed():
    folder = Path("/tmp/railhead-rig-killed")
    command, processes = up(folder)

    command.kill()
    command.wait()
    command.stdout.close()

    assert wait_until(lambda: not alive(processes) and not folder.exists(), 20)


@pytest.mark.parametrize("daemon, offset", [("slurmctld", 0), ("slurmd", 3)])
def test_a_port_in_use_is_avoided(daemon, offset, monkeypatch):
    real, taken = rig_module.free_ports, []

    def free_ports(count):  # as if somebody took one after we looked
        first = real(count)
        if not taken:
            taken.append(socket.create_server(("", first + offset)))
        return first
    monkeypatch.setattr(rig_module, "free_ports", free_ports)

    with Rig(2) as rig:
        assert taken[0].getsockname()[1] not in range(rig.port, rig.port + 4)
        assert rig.run(["srun", "-N2", "hostname"]).returncode == 0
    taken[0].close()


@pytest.mark.parametrize("options, step, why", [
    ({"extra": "Nonsense=1"}, "start slurmctld: ended with status 1", "Nonsense"),
    ({"extra": "SlurmdSpoolDir=/dev/null/%n"}, "start the slurmd of n01", "/dev/null/n01"),
    ({"user": "root:x"}, "make the user root:x", "useradd root:x"),
    ({"folder": "/tmp"}, "make the cluster's folder", "not empty"),
])
def test_what_does_not_start_is_named(options, step, why):
    rig = Rig(1, **options)

    with pytest.raises(RigError) as error:
        rig.start()

    assert str(error.value).startswith(step) and why in str(error.value)
    assert rig.keeper is None


def test_a_folder_that_the_plain_user_cannot_enter_is_refused(tmp_path):
    tmp_path.chmod(0o700)

    with pytest.raises(RigError, match="cannot enter"):
        Rig(1, folder=tmp_path / "below").start()


def test_plugins_in_a_private_checkout_are_found_by_the_plain_user(tmp_path):
    tmp_path.chmod(0o700)
    (tmp_path / "plugins").mkdir()

    with Rig(1, plugins=tmp_path / "plugins") as rig:
        assert rig.run(["srun", "id", "-un"]).stdout == f"{rig.user}\n"


def test_two_clusters_at_once_do_not_meet():
    with Rig(2) as one, Rig(3) as two:
        assert len(one.run(["sinfo", "-h", "-N"]).stdout.splitlines()) == 2
        assert len(two.run(["sinfo", "-h", "-N"]).stdout.splitlines()) == 3
        one.stop()
        assert two.run(["srun", "-N3", "id", "-un"]).stdout == f"{two.user}\n" * 3


def test_a_large_cluster_of_made_up_nodes_places_jobs():
    with Rig([Nodes(1000, features="big"), Nodes(24, gpus=4)], cloud=True, leaves=16) as rig:
        job = rig.sbatch("#!/bin/sh\n", "-N64", "--gres=gpu:8", "--exclusive")
        info = rig.wait_job(job, states={"CONFIGURING"})
        assert len(rig.hostnames(info["NodeList"])) == 64


@pytest.mark.skipif(slurm_version() < (23, 11), reason="topology/block came with Slurm 23.11")
def test_blocks_are_a_topology_too():
    blocks = "BlockName=b1 Nodes=n[01-04]\nBlockName=b2 Nodes=n[05-08]\nBlockSizes=4\n"
    with Rig(8, topology=blocks) as rig:
        shown = rig.run(["scontrol", "show", "topology"]).stdout
        assert "BlockName=b1" in shown and "BlockName=b2" in shown
