"""Steps with a checkpoint clock: clusters, and a program that catches signals and writes down when they come."""

import json
import time

import pytest

from conftest import BUILD, PLUGINS
from rig import Rig

HELPER = BUILD / "spank" / "railhead-ckpt"
LINE = f"optional {{plugins}}/spank_railhead.so cache=off helper={HELPER}\n"

# catch SECONDS [SIGNAL,...]: runs so long, in spite of these signals (default USR1), and writes a file
# reports/STEP.TASK.PID with its variables and, by the wall clock, each signal.  Other words of the line:
#   until=N    ends when it has got so many
#   late=S     catches them only after so many seconds
#   loader     has a child, as a data loader is, that catches what it has inherited and says so
#   bare       has a child that catches nothing
#   wait       tells at its end what child wait(-1) finds
CATCH = """#!/usr/bin/env python3
import json, os, signal, subprocess, sys, time
seconds, *words = sys.argv[1:]
options = dict(word.partition("=")[::2] for word in words)
names = options.pop("signals", "USR1").split(",")
until = int(options.get("until", 1000))
got = []
def catch(number, frame):
    got.append((signal.Signals(number).name[3:], time.time()))
    write()
def write():
    env = os.environ
    step = env.get("SLURM_STEP_ID", "batch")  # of later releases also the batch step's, below zero
    place = f"{'batch' if step.startswith('-') else step}.{env.get('SLURM_PROCID', '0')}.{os.getpid()}"
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reports", place)
    written = -1
    while written != len(got):  # a signal writes too, in the midst of this
        written, new = len(got), f"{path}.{time.monotonic_ns()}.new"
        with open(new, "w") as file:
            json.dump({"role": role, "got": got[:written], "env": dict(env), "child": child, "pid": os.getpid(),
                       "began": began}, file)
        os.rename(new, path)
role, child, began = "task", None, time.time()
end = began + float(seconds)
time.sleep(float(options.get("late", 0)))
for name in names:
    signal.signal(getattr(signal, "SIG" + name), catch)
if "bare" in options:
    loader = subprocess.Popen(["sleep", seconds], start_new_session=True)
elif "loader" in options and os.fork() == 0:
    role = "loader"
write()
while time.time() < end and len(got) < until:
    time.sleep(0.02)
if role == "loader":
    os._exit(0)
if "wait" in options:
    try:
        child = os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        child = "none"
if "bare" in options:
    child = loader.wait()  # -10 if it died of SIGUSR1
write()
"""


def clocked_rig(nodes=2, *, line=LINE, **options):
    return Rig(nodes, plugins=PLUGINS, plugstack=line, **{"gpus": 0, **options})


@pytest.fixture
def start(plugins):
    """start(arguments of clocked_rig()): a cluster of a test's own."""
    rigs = []

    def start(*arguments, **options):
        rigs.append(clocked_rig(*arguments, **options))
        return rigs[-1].start()
    yield start
    for rig in rigs:
        rig.stop()


def catch(rig):
    """The path of the program."""
    path = rig.work / "catch"
    if not path.exists():
        path.write_text(CATCH)
        path.chmod(0o755)
        (rig.work / "reports").mkdir()
        (rig.work / "reports").chmod(0o777)
    return path


def reports(rig):
    """What the programs wrote since the last call, by step and task."""
    found = []
    catch(rig)  # makes the folder
    for file in sorted((rig.work / "reports").iterdir()):
        if not file.name.endswith(".new"):
            found.append({"task": int(file.name.split(".")[1]), "step": file.name.split(".")[0], **json.loads(file.read_text())})
        file.unlink()
    return found


def srun(rig, *words, options=(), **keywords):
    """Runs a step of the program; returns (its reports, what srun said)."""
    said = rig.run(["srun", *options, catch(rig), *words], **keywords).stderr
    return reports(rig), said


def times(report, name="USR1"):
    return [when for signal, when in report["got"] if signal == name]


def next_multiple(seconds, least):
    """Sleeps until there are at least so many seconds before the next multiple of `seconds`."""
    while seconds - time.time() % seconds < least:
        time.sleep(0.05)
