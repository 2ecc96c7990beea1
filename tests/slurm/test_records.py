"""What Slurm records of a node's death: found by our readers, in accounting, in slurmctld and in its log."""

import json
import re

import pytest

from conftest import BUILD
from keeper import wait_until
from rig import Rig, RigError

RAILHEAD = BUILD / "cli" / "railhead"
FIELDS = "JobID,JobIDRaw,User,State,ExitCode,NodeList,AllocNodes,AllocTRES,Submit,Start,End,Reason"


def start(**options):
    return Rig(4, gpus=2, sockets=2, cores=4, node_timeout=6, **options).start()


def die(rig, *options):
    """A job that loses the node that is not its batch host; both."""
    job = rig.sbatch("#!/bin/sh\nsrun sleep 300\n", "-N2", "--gres=gpu:2", "--exclusive", *options)
    rig.wait_job(job, states={"RUNNING"})
    host = rig.job_info(job)["BatchHost"]
    node = next(name for name in rig.hostnames(rig.job_info(job)["NodeList"]) if name != host)
    rig.kill_node(node)
    # It is COMPLETING until the dead node is given up.
    assert wait_until(lambda: rig.job_info(job)["JobState"] in ("NODE_FAIL", "PENDING"), 60, 0.2), rig.job_info(job)
    return job, node


@pytest.fixture(scope="module")
def plain():
    rig = start()
    yield rig
    rig.stop()


@pytest.fixture(scope="module")
def accounted():
    try:
        rig = start(enforce="associations")
    except RigError as error:
        if "_check_mysql_concat_is_sane: null" not in str(error):
            raise
        pytest.skip("this slurmdbd does not start on this MariaDB: it does not get the answer to its first question")
    yield rig
    rig.stop()


@pytest.fixture(scope="module")
def death(accounted):
    """A job that ended with its node, and one that was requeued for it, both in accounting."""
    ended, node = die(accounted, "--no-requeue")
    accounted.revive_nodes()
    requeued, other = die(accounted, "--requeue")

    def known():  # slurmdbd hears of it a moment later
        events = ask(accounted, "sacctmgr", "-P", "show", "event", "format=NodeName,State")
        states = ask(accounted, "sacct", "-D", "-X", "-P", "-n", "-o", "JobID,State")
        return events.count("DOWN") >= 2 and f"{ended.id}|NODE_FAIL" in states and f"{requeued.id}|" in states
    assert wait_until(known, 30, 0.5)
    return ended, node, requeued, other


def ask(rig, *command, zone=True):
    return rig.run(list(command), user="root", env={"SLURM_TIME_FORMAT": "%s"} if zone else {}).stdout


def railhead(rig, *words):
    result = rig.run([str(RAILHEAD), *map(str, words)], user="root", check=False)
    assert result.returncode != 2, result.stderr
    return result


def files(rig, tmp_path, *, as_json=False, zone=True):
    jobs = ["sacct", "-D", "-X", "--json"] if as_json else ["sacct", "-D", "-X", "-P", "-o", FIELDS]
    first = tmp_path / "sacct"
    first.write_text(ask(rig, *jobs, zone=zone and not as_json))  # 22.05 finds no job with a format and --json
    second = tmp_path / "events"
    second.write_text(ask(rig, "sacctmgr", "-P", "show", "event", zone=zone))
    return first, second


@pytest.mark.parametrize("as_json", [False, True])
def test_a_failure_is_blamed_on_the_node_that_died(accounted, death, tmp_path, as_json):
    ended, node, requeued, other = death
    answer = json.loads(railhead(accounted, "mtbf", *files(accounted, tmp_path, as_json=as_json), "--definition=node-fail",
                                 "--json").stdout)

    blamed = {one["job"]: one["node"] for one in answer["list"]}
    assert blamed == {str(ended.id): node, str(requeued.id): other}
    assert answer["of_no_known_node"] == 0
    assert answer["node_days"] > 0


def test_times_without_a_zone_fit_those_of_the_log(accounted, death, tmp_path):
    ended, node, _, _ = death
    jobs, events = files(accounted, tmp_path, zone=False)
    log = accounted.logs / "slurmctld.log"
    text = railhead(accounted, "postmortem", ended.id, "--sacct", jobs, "--events", events, "--log", log).stdout

    assert f"job {ended.id} ends for the failure of {node}" in text
    assert f"{node} stopped responding" in text


def test_a_post_mortem_asks_accounting_by_itself(accounted, death):
    ended, node, requeued, other = death
    result = railhead(accounted, "postmortem", ended.id, requeued.id)

    assert "warning" not in result.stderr
    text = result.stdout
    assert f"**Not determined**: {node} stopped responding" in text
    assert f"**Not determined**: {other} stopped responding" in text
    assert f"job {ended.id} ended: NODE\\_FAIL" in text
    assert re.search(r"\| recomputed \| at most [0-9.]+ \|", text)
    assert "Times: UTC." in text


def test_lemons_of_a_fresh_cluster_are_none(accounted, death, tmp_path):
    result = railhead(accounted, "lemons", *files(accounted, tmp_path))

    assert result.returncode == 0
    assert "No node stands out." in result.stdout


def test_without_accounting_slurmctld_and_its_log_tell(plain, tmp_path):
    ended, node = die(plain, "--no-requeue")
    result = railhead(plain, "postmortem", ended.id, "--log", plain.logs / "slurmctld.log")

    assert "accounting does not answer" in result.stderr
    assert f"job {ended.id} ended: NODE\\_FAIL" in result.stdout
    assert f"job {ended.id} ends for the failure of {node}" in result.stdout
    assert f"{node} stopped responding" in result.stdout
