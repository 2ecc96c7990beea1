// From the peak of the GPUs down to the MFU of the run: a table whose rows have a bar.
function fallRow(kind, what, from, to, note) {
  const bar = make("span");
  bar.style.left = `${from * 100}%`;
  bar.style.width = `${Math.max(0, to - from) * 100}%`;
  return make(
    "tr",
    { class: kind },
    make("td", null, what),
    make("td", { class: "n" }, percent(to - from)),
    make("td", { class: "track", "aria-hidden": "true" }, make("div", null, bar)),
    make("td", { class: "from" }, note),
  );
}

function kindOf(bar) {
  if (bar.what === "unexplained") {
    return "unexplained";
  }
  return bar.from.startsWith("finding ") ? "finding-bar" : "silicon";
}

function drawWaterfall() {
  const section = byId("waterfall");
  const fall = diagnosis.waterfall;
  if (!fall) {
    const needs = diagnosis.mfu_needs;
    const wrong = diagnosis.findings.find((one) => one.id === "impossible-mfu");
    section.append(
      wrong
        ? noData(wrong.what)
        : noData(
            "No MFU is known. ",
            needs.length > 0
              ? `Needed: ${needs.join("; ")}.`
              : "It takes a training log, with --model, --gpus and --accelerator where the log does not say them.",
          ),
    );
    return;
  }
  const rows = [fallRow("peak", "Peak of the GPUs", 0, 1, "")];
  let left = 1;
  for (const bar of fall.bars) {
    rows.push(fallRow(kindOf(bar), bar.what, left - bar.share, left, bar.from));
    left -= bar.share;
  }
  rows.push(fallRow("reached", "MFU", 0, fall.mfu, "of the last steps"));
  const head = make(
    "thead",
    null,
    make(
      "tr",
      null,
      make("th", { scope: "col" }, "What"),
      make("th", { scope: "col", class: "n" }, "Of the peak"),
      make("th", { "aria-hidden": "true" }),
      make("th", { scope: "col" }, "From"),
    ),
  );
  section.append(
    make(
      "table",
      { class: "fall" },
      make(
        "caption",
        null,
        "Shares of the step at the peak. They add up to 100 % less the MFU.",
        fall.scaled ? " Findings claim more than is lost: their bars were made smaller." : "",
      ),
      head,
      make("tbody", null, rows),
    ),
  );
  if (diagnosis.comparison) {
    section.append(comparisonTable(diagnosis.comparison));
  }
}

function comparisonTable(about) {
  const rows = about.parts.map((part) => [
    part.what,
    seconds(part.before),
    seconds(part.now),
    percent(part.step_share),
  ]);
  rows.push(["mean step", seconds(about.before), seconds(about.now), percent(about.change)]);
  return make(
    "figure",
    null,
    makeTable(`Against ${about.baseline}`, ["Part of the step", "#Before", "#Now", "#Change"], rows),
  );
}
