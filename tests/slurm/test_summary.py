"""The last line of scripts/test: what counts as passed, failed and skipped."""

import subprocess
import sys
from pathlib import Path

import pytest

SUMMARY = Path(__file__).parents[2] / "scripts" / "lib" / "summary.py"

CASES = {
    "passed": '<testcase classname="a" name="b"/>',
    "failed": '<testcase classname="a" name="b"><failure message="1 != 2"/></testcase>',
    "skipped by pytest": '<testcase classname="a" name="b"><skipped message="no GPU"/></testcase>',
    "skipped by Catch2 2": '<testcase name="b" classname="b" status="run"><system-out>warning:\n  skipped: no GPU\n</system-out></testcase>',
    "skipped by Catch2 3": '<testcase name="b" classname="b" status="notrun"><skipped message="SKIP_RETURN_CODE=4"/>'
                           "<system-out>SKIPPED:\nexplicitly with message:\n  no GPU\n</system-out></testcase>",
}


def summary(tmp_path, text):
    path = tmp_path / "ctest.xml"
    if text is not None:
        path.write_text(text)
    return subprocess.run([sys.executable, SUMMARY, f"here={path}"], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", CASES)
def test_every_outcome_is_counted_and_a_skip_says_why(kind, tmp_path):
    result = summary(tmp_path, f"<testsuite>{CASES[kind]}</testsuite>")

    counts = [int(kind.startswith(word)) for word in ("passed", "failed", "skipped")]
    assert result.stdout.splitlines()[-1] == "{} passed, {} failed, {} skipped".format(*counts)
    assert result.returncode == counts[1]
    if counts[2]:
        assert "b: no GPU" in result.stdout


@pytest.mark.parametrize("text", [None, "", "<testsuite/>", "<testsuite><testcase"])
def test_no_results_are_a_failure(text, tmp_path):
    result = summary(tmp_path, text)

    assert result.stdout.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"
    assert result.returncode == 1
