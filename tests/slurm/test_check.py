"""railhead check against a real controller and the machine's own Slurm."""

import json
import shutil

import pytest

from conftest import BUILD


def check(rig, *options):
    result = rig.run([BUILD / "cli" / "railhead", "check", "--json", *options], user="root", check=False)
    return result.returncode, json.loads(result.stdout)["findings"]


def texts(findings, level):
    return [finding["text"] for finding in findings if finding["level"] == level]


def test_a_site_in_order_has_no_findings(cluster):
    status, findings = check(cluster)
    assert status == 0, [finding for finding in findings if finding["level"] != "ok"]
    assert sum(f"fits Slurm {cluster.release}" in text for text in texts(findings, "ok")) == 2


@pytest.mark.parametrize("name,old,new", [
    ("topology.conf", "SwitchName=leaf1 Nodes=n01\nSwitchName=leaf2 Nodes=n02", "SwitchName=leaf1 Nodes=n02\nSwitchName=leaf2 Nodes=n01"),
    ("slurm.conf", "PartitionName=main Nodes=ALL", "PartitionName=main Nodes=n01"),
])
def test_a_file_newer_than_the_controller_is_told_until_it_reconfigures(make_rig, name, old, new):
    rig = make_rig(2, leaves=2)
    assert check(rig)[0] == 0
    path = rig.etc / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))

    status, findings = check(rig)
    assert status == 1
    assert texts(findings, "warning") == [f"{path} is newer than what slurmctld has in force: scontrol reconfigure"]

    rig.reconfigure()
    assert check(rig)[0] == 0


def test_a_plugin_for_another_slurm_is_told(cluster, tmp_path):
    for name in ("job_submit_railhead.so", "spank_railhead.so"):
        shutil.copy(BUILD / "plugins" / name, tmp_path)
    # A stock plugin of another release: ours with another number where plugin_version stands.
    ours = (BUILD / "plugins" / "job_submit_railhead.so").read_bytes()
    major, minor, micro = cluster.version
    number = bytes([micro, minor, major, 0])
    (tmp_path / "select_cons_tres.so").write_bytes(ours.replace(number, bytes([micro + 1, minor, major, 0])))

    status, findings = check(cluster, "--plugin-dir", tmp_path)
    assert status == 1
    errors = texts(findings, "error")
    assert any(f"was built for Slurm {cluster.release}" in text for text in errors), findings
    # A SPANK plugin may differ in the last part, a job_submit plugin may not.
    assert len(errors) == 1, errors


def test_a_recorded_node_that_others_can_write_is_told(cluster, tmp_path):
    node = tmp_path / "node.xml"
    node.write_text("<topology/>")
    plugstack = tmp_path / "plugstack.conf"
    plugstack.write_text(f"optional {BUILD}/plugins/spank_railhead.so topology={node}\n")
    node.chmod(0o644)
    assert not texts(check(cluster, "--plugstack", plugstack)[1], "error")
    node.chmod(0o646)
    status, findings = check(cluster, "--plugstack", plugstack)
    assert status == 1
    assert any("node.xml" in text and "can be written by others" in text for text in texts(findings, "error")), findings


def test_a_helper_that_is_missing_or_that_others_can_write_is_told(cluster, tmp_path):
    plugstack = tmp_path / "plugstack.conf"
    helper = tmp_path / "railhead-ckpt"
    plugstack.write_text(f"optional {BUILD}/plugins/spank_railhead.so helper={helper}\n")
    assert any(f"{helper} is not on this machine" in text for text in texts(check(cluster, "--plugstack", plugstack)[1], "advice"))
    shutil.copy(BUILD / "spank" / "railhead-ckpt", helper)
    helper.chmod(0o755)
    assert not any("railhead-ckpt" in finding["text"] for finding in check(cluster, "--plugstack", plugstack)[1])
    helper.chmod(0o775)
    status, findings = check(cluster, "--plugstack", plugstack)
    assert status == 1
    assert any("railhead-ckpt" in text and "can be written by others" in text for text in texts(findings, "error")), findings


def test_a_misspelt_plugstack_argument_is_told(cluster, tmp_path):
    plugstack = tmp_path / "plugstack.conf"
    plugstack.write_text(f"required {BUILD}/plugins/spank_railhead.so topolgy=/x\n")
    status, findings = check(cluster, "--plugstack", plugstack)
    assert status == 1
    assert any("topolgy" in text for text in texts(findings, "error"))
    assert any('write "optional"' in text for text in texts(findings, "warning"))


def test_a_node_that_was_drained_by_its_configuration_is_told_with_the_remedy(make_rig):
    rig = make_rig(2, leaves=2)
    reason = "gres/gpu GRES autodetected core affinity 0-15 on node n01 doesn't match socket boundaries. (Socket 0 is cores 0-31)"
    rig.run(["scontrol", "update", "NodeName=n01", "State=DRAIN", f"Reason={reason}"], user="root")
    rig.run(["scontrol", "update", "NodeName=n02", "State=DRAIN", "Reason=maintenance"], user="root")

    status, findings = check(rig)

    assert status == 1
    (text,) = texts(findings, "warning")
    assert text.startswith("n01 is drained: gres/gpu GRES autodetected core affinity") and "numa_node_as_socket" in text
