"""Fixtures of the end-to-end tests: private clusters with the plugins of one build.

    cluster    one cluster for all tests, both plugins, policy "enforce"; empty when a test begins
    make_rig   starts a cluster of a test's own; takes the arguments of Rig

RAILHEAD_BUILD names the build folder (default build/dev).
"""

import os
import signal
from pathlib import Path

import pytest

from keeper import Freezer, wait_until
from rig import Rig, has_freezer, slurm_version

CHECKOUT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("RAILHEAD_BUILD") or CHECKOUT / "build" / "dev").resolve()
PLUGINS = BUILD / "plugins"
NODE_XML = CHECKOUT / "tests" / "data" / "nodes" / "dgx-h100.xml"

ENFORCE = 'mode = "enforce"\nplacement.wait = "5m"\n'
needs_freezer = pytest.mark.skipif(not has_freezer(), reason=f"no cgroup v1 freezer at {Freezer.ROOT}")
PLUGSTACK = "optional {plugins}/spank_railhead.so topology={etc}/node.xml cache={run}/railhead\n"


def pytest_configure():
    # Fixtures then end their clusters, as on Ctrl-C.
    def interrupt(*_):
        raise KeyboardInterrupt
    for sig in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, interrupt)


def pytest_report_header():
    return "Slurm {}.{:02}.{}, plugins in {}".format(*slurm_version(), PLUGINS)


def railhead_rig(nodes=8, **options):
    """A Rig with both plugins and a policy that enforces; any of it can be given otherwise."""
    options.setdefault("plugins", PLUGINS)
    options.setdefault("job_submit", True)
    options.setdefault("plugstack", PLUGSTACK)
    options.setdefault("policy", ENFORCE)
    options["files"] = {"node.xml": NODE_XML.read_text(), **options.get("files", {})}
    return Rig(nodes, **options)


@pytest.fixture(scope="session")
def plugins():
    """The folder of the built plugins; tests that need them are skipped without."""
    for name in ("job_submit_railhead.so", "spank_railhead.so"):
        if not (PLUGINS / name).exists():
            pytest.skip(f"{name} is not built in {PLUGINS}")
    return PLUGINS


@pytest.fixture(scope="session")
def shared_rig(plugins):
    with railhead_rig(leaves=2) as rig:
        yield rig


def empty(rig):
    """Ends all jobs; returns when the nodes are free for the next test."""
    rig.run(["scancel", f"--user={rig.user}"], user="root", check=False)

    def idle():
        jobs = rig.run(["squeue", "--noheader", "--format=%i"], user="root").stdout
        nodes = rig.run(["sinfo", "--noheader", "--format=%T"], user="root").stdout
        return not jobs and set(nodes.split()) == {"idle"}
    # A message that is lost under load is sent again after a minute.
    assert wait_until(idle, 120, 0.1), rig.run("squeue; sinfo", user="root").stdout


@pytest.fixture
def cluster(shared_rig):
    yield shared_rig
    empty(shared_rig)


@pytest.fixture
def make_rig():
    """make_rig(**arguments of Rig): with Railhead; make_rig(railhead=False, ...): stock Slurm."""
    rigs = []

    def make(nodes=8, *, railhead=True, **options):
        if railhead:
            rig = railhead_rig(nodes, **options)
        else:
            rig = Rig(nodes, **options)
        rigs.append(rig)
        return rig.start()
    yield make
    for rig in rigs:
        rig.stop()
