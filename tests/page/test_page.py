"""The page that `railhead report` writes, in a headless Chromium: what it shows, how fast, by keyboard, on paper.

RAILHEAD_BUILD names the build folder (default build/dev).  RAILHEAD_PICTURES names a folder that keeps the pictures.
"""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

import runs
from browser import CHROMIUM, Browser

CHECKOUT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("RAILHEAD_BUILD") or CHECKOUT / "build" / "dev").resolve()
RAILHEAD = BUILD / "cli" / "railhead"
CORPUS = Path(os.environ.get("RAILHEAD_CORPUS") or CHECKOUT.parent / "shared" / "corpus")
SECTIONS = ["findings", "waterfall", "steps", "tables", "placement", "ranks", "checked", "files"]
OPTIONS = ["--accelerator", "h100", "--model", "llama-3-70b", "--nic", "ndr", "--nics", "8",
           "--topology", "topology.conf"]
LIMIT_BYTES = 10_000_000
FIRST_PAINT_MS = 2000
FILTER_MS = 200

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
    pytest.mark.skipif(not RAILHEAD.exists(), reason=f"no railhead in {BUILD}"),
]


def report(folder, *arguments):
    """Writes folder/page.html; gives what the command printed."""
    result = subprocess.run([RAILHEAD, "report", *arguments, "-o", "page.html"], cwd=folder,
                            capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1), result.stderr
    return result.stdout


def write_run(folder, ranks, **of_log):
    (folder / "nccl.log").write_text(runs.nccl_log(ranks, **of_log))
    (folder / "train.log").write_text(runs.training_log(1500))
    (folder / "all-reduce.txt").write_text(runs.nccl_tests())
    (folder / "topology.conf").write_text(runs.topology(ranks // runs.PER_NODE + 2 * runs.PER_LEAF))
    return report(folder, "nccl.log", "train.log", "all-reduce.txt", *OPTIONS, "--gpus", str(ranks),
                  "--title", f"Run of {ranks} ranks")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The page of a run of 256 ranks, of which rank 3 says nothing."""
    folder = tmp_path_factory.mktemp("run")
    write_run(folder, 256, silent={3})
    return folder / "page.html"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The page of a run of 16,384 ranks."""
    folder = tmp_path_factory.mktemp("large")
    write_run(folder, 16384)
    return folder / "page.html"


@pytest.fixture(scope="module")
def tab():
    with Browser() as browser:
        yield browser


@pytest.fixture
def opened(tab, run):
    tab.log.clear()
    tab.asked.clear()
    tab.media("light")
    tab.open(run)
    yield tab
    assert tab.log == [], "the console has errors"
    assert tab.asked == [], "the page asked for something"


def keep(tab, name, whole=True):
    folder = os.environ.get("RAILHEAD_PICTURES")
    if folder:
        tab.picture(Path(folder) / f"{name}.png", whole)


def test_every_section_says_what_the_files_say(opened):
    text = {section: opened.text(f"#{section}") for section in ["summary", *SECTIONS]}
    assert opened.text("#title") == "Run of 256 ranks"
    assert "cause found" in text["summary"]
    assert "255" in text["summary"] and "1 of 256 absent" in text["summary"]
    assert "NICs that give up after all retries" in text["findings"]
    assert re.search(r"nccl\.log:\d+: gpu\d{4}:\d+:\d+ \[\d\] transport/net_ib.cc:1295 NCCL WARN", text["findings"])
    assert "Peak of the GPUs" in text["waterfall"] and "unexplained" in text["waterfall"]
    assert "1,500 lines about steps in train.log" in text["steps"] and "Levels of the step time" in text["steps"]
    assert "16 ranks on 2 nodes, NVIDIA H100 80GB HBM3" in text["tables"]
    assert "32 nodes of the job on 1 leaf of 3 in topology.conf; 1 leaf could hold as many" in text["placement"]
    assert "No line is from 1 rank of 256: 3" in text["ranks"]
    assert "Looked for and not found" in text["checked"]
    assert "all-reduce.txt" in text["files"]


def test_the_waterfall_closes(opened):
    shares = opened.run("[...document.querySelectorAll('#waterfall td.n')].map((cell) => parseFloat(cell.textContent))")
    peak, *bars, mfu = shares
    assert peak == 100
    assert sum(bars) + mfu == pytest.approx(100, abs=0.1 * len(shares))


def test_a_drift_of_step_times_is_drawn(tab, tmp_path):
    (tmp_path / "train.log").write_text(runs.training_log(1500, drift=0.05))
    report(tmp_path, "train.log")
    tab.open(tmp_path / "page.html")
    keep(tab, "drift")
    drift = re.search(r"trend, \+(\d\.\d) % over the log", tab.text("#steps"))
    assert float(drift[1]) == pytest.approx(4.9, abs=0.3), "5 % of the first step, of the median less"


def test_what_draws_is_of_the_page_alone(opened, run):
    html = run.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    # A script that is not of the page is refused, also where somebody gets one in.
    opened.run("""{
        const one = document.createElement("script");
        one.textContent = "window.hacked = 1";
        document.body.append(one);
    }""")
    assert opened.run("window.hacked") is None
    assert any("Content Security Policy" in line for line in opened.log)
    opened.log.clear()


def test_what_somebody_wrote_is_text_and_nothing_else(tab, tmp_path):
    hostile = "".join(runs.HOSTILE)
    (tmp_path / "topology.conf").write_text(runs.topology(64))
    log = "a\u2028<img src=x onerror=window.hacked=1>.log"
    (tmp_path / log).write_text(runs.nccl_log(64, spoken=runs.HOSTILE[0]))
    report(tmp_path, log, "--topology", "topology.conf", "--title", hostile,
           "--nodes", "gpu[0000-0007],<svg/onload=window.hacked=1>")

    tab.log.clear()
    tab.asked.clear()
    tab.open(tmp_path / "page.html")

    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert html.count("<script") == 3, "data, chart library, our own"
    assert html.count("</script") == 3
    assert tab.run("window.hacked") is None
    tab.run("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
    tab.run("document.getElementById('map').focus()")
    tab.press("End")
    tab.press("Enter")
    assert tab.text("#detail-title") == "<svg/onload=window.hacked=1>"
    tab.press("Escape")
    assert tab.run("document.querySelectorAll('img, svg').length") == 0
    assert tab.text("#title").startswith("</script><script>window.hacked=1</script><img src=x")
    assert "vendor err 129 (Recv) </script><script>window.hacked=1</script>" in tab.text("#findings")
    assert "<img src=x onerror=window.hacked=1>.log:" in tab.text("#findings")
    assert tab.run("window.hacked") is None
    assert (tab.log, tab.asked) == ([], [])


def test_light_and_dark_follow_the_system_until_one_is_chosen(opened):
    def paper():
        return opened.run("getComputedStyle(document.body).backgroundColor")
    light = paper()
    keep(opened, "light")
    opened.media("dark")
    dark = paper()
    keep(opened, "dark")

    opened.run("document.getElementById('theme').click()")  # auto -> light
    chosen = paper()
    opened.run("document.getElementById('theme').click(); document.getElementById('theme').click()")

    assert (light, dark, chosen) == ("rgb(255, 255, 255)", "rgb(15, 20, 25)", "rgb(255, 255, 255)")
    assert paper() == dark, "auto again"


def test_texts_can_be_told_from_the_page_in_both_themes(opened):
    contrast = """(() => {
        const value = (name) => {
          const hex = color(name), full = hex.length === 4 ? hex.replace(/[0-9a-f]/g, "$&$&") : hex;
          const parts = [1, 3, 5].map((at) => parseInt(full.slice(at, at + 2), 16) / 255)
            .map((one) => one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
          return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
        };
        const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
        const page = value("page");
        return ["text", "dim", "blue", "orange", "green", "purple", "bad"].map((name) =>
          [name, (Math.max(page, value(name)) + 0.05) / (Math.min(page, value(name)) + 0.05)]);
    })()"""
    for scheme in ("light", "dark"):
        opened.media(scheme)
        for name, ratio in opened.run(contrast):
            assert ratio >= 4.5, f"{name} in {scheme}: WCAG asks for 4.5"


def test_the_page_can_be_used_by_keyboard(opened):
    opened.press("Tab")
    assert opened.focused() == "Skip to the findings"
    opened.press("/")
    assert opened.focused() == "filter"
    opened.type("gpu0017")
    assert "1 of 96 nodes, 8 of 255 ranks" in opened.text("#filter-count")
    opened.press("Escape")
    assert opened.text("#filter-count") == ""

    opened.run("document.getElementById('map').focus()")
    opened.press("ArrowRight", 2)
    assert "gpu0001" in opened.text("#placement .readout")
    opened.press("Enter")
    assert opened.run("document.getElementById('detail').open")
    assert opened.text("#detail-title") == "gpu0001"
    opened.press("Escape")
    assert not opened.run("document.getElementById('detail').open")
    assert opened.focused() == "map"

    opened.run("document.getElementById('rank-grid').focus()")
    opened.press("End")
    opened.press("Enter")
    assert opened.text("#detail-title") == "Rank 255"
    opened.press("Escape")
    assert opened.focused() == "rank-grid"

    opened.run("document.querySelector('#steps .chart').focus()")
    opened.press("ArrowRight", 3)
    assert opened.text("#steps .readout").startswith("Iteration 4, ")
    opened.run("document.querySelector('#tables .chart').focus()")
    opened.press("End")
    read = opened.text("#tables .readout")
    assert re.match(r"8 GiB, measured 330 GB/s in 48.8 ms, modelled \d+ GB/s in [\d.]+ ms, ", read)


def test_ranks_can_be_narrowed_and_sorted(opened):
    opened.run("document.getElementById('warned-only').click()")
    # A head and the twelve that warned.
    assert opened.run("document.getElementById('rank-grid').getAttribute('aria-rowcount')") == "13"

    opened.run("""[...document.querySelectorAll("#rank-grid th button")]
        .find((one) => one.textContent === "Init").click()""")

    rows = "[...document.querySelectorAll('#rank-grid tbody tr[data-at]')]"
    times = opened.run(rows + ".map((row) => parseFloat(row.children[9].textContent))")
    assert len(times) == 12
    assert times == sorted(times, reverse=True)
    assert opened.run("document.querySelector('#rank-grid th[aria-sort]').getAttribute('aria-sort')") == "descending"


def test_everything_that_takes_the_keyboard_has_a_name(opened):
    nameless = opened.run("""[...document.querySelectorAll("a, button, input, summary, [tabindex='0']")]
        .filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label") || one.closest("label")))
        .map((one) => one.outerHTML.slice(0, 80))""")
    assert nameless == []


def test_behind_each_chart_is_a_table(opened):
    opened.run("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
    opened.settle()
    assert "train.log:1" in opened.text("#steps")
    assert "8 GiB" in opened.text("#tables") and "Simple" in opened.text("#tables")
    assert re.search(r"leaf000\s+32\s+32", opened.text("#placement"))


def test_on_paper_it_is_light_and_has_the_ranks_that_warned(opened, tmp_path):
    opened.media("dark")
    opened.run("""addEventListener("beforeprint", () => {
        const ranks = document.getElementById("printed-ranks").innerText;
        window.printed = [document.documentElement.dataset.theme, ranks];
    })""")
    opened.paper(Path(os.environ.get("RAILHEAD_PICTURES") or tmp_path) / "page.pdf")
    theme, ranks = opened.run("window.printed")
    assert theme == "light"
    assert "255 ranks, 12 with warnings" in ranks
    assert opened.run("document.documentElement.dataset.theme") == "dark", "and dark again"
    assert opened.run("document.getElementById('printed-ranks')") is None


def paint_ms(tab):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        paint = tab.run("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        if paint is not None:
            return paint
        time.sleep(0.1)
    raise AssertionError("nothing was painted")


def test_16384_ranks_are_small_and_quick(tab, large):
    tab.log.clear()
    tab.media("light")
    tab.open(large)
    paint = paint_ms(tab)
    drawn = tab.run("performance.getEntriesByName('railhead-drawn')[0].startTime")
    tab.run("document.getElementById('filter').focus()")
    tab.type("gpu17 leaf05")
    shown = tab.text("#filter-count")
    longest = tab.run("Math.max(...performance.getEntriesByName('railhead-filter').map((one) => one.duration))")
    keep(tab, "16384-filtered", whole=False)

    print(f"{large.stat().st_size / 1e6:.2f} MB, first paint {paint:.0f} ms, drawn {drawn:.0f} ms, "
          f"filter at most {longest:.0f} ms")
    assert large.stat().st_size <= LIMIT_BYTES
    assert max(paint, drawn) <= FIRST_PAINT_MS
    assert longest <= FILTER_MS
    # leaf050 to leaf059 have gpu1600 to gpu1919.
    assert "100 of 2,112 nodes, 800 of 16,384 ranks" in shown
    assert tab.log == []


def test_a_file_without_any_of_it_still_makes_a_page(tab, tmp_path):
    xid = "[   12.345678] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.\n"
    (tmp_path / "dmesg.txt").write_text(xid * 3)
    report(tmp_path, "dmesg.txt")
    tab.log.clear()
    tab.open(tmp_path / "page.html")
    assert "No MFU is known" in tab.text("#waterfall")
    assert "No file has lines about training steps" in tab.text("#steps")
    assert "No nodes are known" in tab.text("#placement")
    assert "79" in tab.text("#findings")
    assert tab.log == []


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no corpus in {CORPUS}: RAILHEAD_CORPUS names its folder")
@pytest.mark.parametrize("kind", ["nccl-log", "nccl-tests", "train-log", "bug-reports"])
def test_public_files_make_a_page_without_an_error(tab, tmp_path, kind):
    files = sorted(path for path in (CORPUS / kind).iterdir() if path.is_file())
    for path in files:
        page = tmp_path / "page.html"
        result = subprocess.run([RAILHEAD, "report", path, "-o", page], capture_output=True, check=False)
        assert page.exists(), f"{path.name}: {result.stderr}"
        tab.log.clear()
        tab.asked.clear()
        tab.open(page)
        tab.run("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
        tab.settle()
        assert (tab.log, tab.asked) == ([], []), path.name
        assert "[object " not in tab.text(), path.name
        page.unlink()
    assert len(files) > 10
