// The summary, and each finding with the lines that say so.
const verdictClass = { "cause found": "is-bad", "symptom only": "is-bad", healthy: "is-good" };

function figure(what, value, more, kind) {
  return make(
    "div",
    null,
    make("dt", null, what),
    make("dd", { class: kind }, value, more ? make("small", null, more) : null),
  );
}

function drawSummary() {
  const figures = [
    figure(
      "Verdict",
      diagnosis.verdict,
      `${counted(diagnosis.findings.length, "finding")}, ${count(diagnosis.not_found.length)} looked for in vain`,
      verdictClass[diagnosis.verdict],
    ),
  ];
  if (diagnosis.waterfall) {
    figures.push(figure("MFU", percent(diagnosis.waterfall.mfu), "of the last steps"));
  }
  const { steps, ranks, placement } = data;
  if (steps && steps.median !== null) {
    figures.push(
      figure("Median time", seconds(steps.median), `${steps.unit.replace(/^s /, "")}; ${counted(steps.lines, "line")}`),
    );
  }
  if (ranks) {
    const absent = ranks.absent.length;
    figures.push(
      figure(
        "Ranks",
        count(ranks.rank.length),
        absent > 0 ? `${count(absent)} of ${count(ranks.world)} absent` : null,
        absent > 0 ? "is-bad" : null,
      ),
    );
  }
  if (placement.topology) {
    figures.push(
      figure(
        "Span",
        counted(placement.span, leafWord, leavesWord),
        placement.least > 0 ? `${count(placement.least)} could hold ${counted(placement.job_nodes, "node")}` : null,
      ),
    );
  }
  byId("summary").append(make("dl", { class: "figures" }, figures));
}

function evidenceList(evidence) {
  const line = (one) =>
    make(
      "li",
      null,
      make("span", { class: "at" }, one.line === null ? one.file : `${one.file}:${one.line}`),
      one.text ? `: ${one.text}` : "",
    );
  const shown = 6;
  const list = make("ul", { class: "evidence" }, evidence.slice(0, shown).map(line));
  return evidence.length <= shown
    ? list
    : [
        list,
        make(
          "details",
          null,
          make("summary", null, `${count(evidence.length - shown)} more`),
          make("ul", { class: "evidence" }, evidence.slice(shown).map(line)),
        ),
      ];
}

function titleOf(finding) {
  if (finding.consequence_of) {
    return `Follows, ${finding.confidence}`;
  }
  return `${finding.role[0].toUpperCase()}${finding.role.slice(1)}, ${finding.confidence}`;
}

function drawFinding(finding, number) {
  const parts = [];
  const add = (what, ...shown) => parts.push(make("dt", null, what), make("dd", null, ...shown));
  add("What", finding.what);
  add("Why", finding.why);
  if (finding.consequence_of) {
    add("From", make("a", { href: `#finding-${finding.consequence_of}` }, finding.consequence_of), ": mend that first");
  }
  if (finding.evidence.length > 0) {
    add("At", evidenceList(finding.evidence));
  }
  if (finding.step_share !== null) {
    add("Costs", `${percent(finding.step_share)} of the step`);
  }
  if (finding.fix.length > 0) {
    add(
      "Fix",
      make(
        "ol",
        null,
        finding.fix.map((one) => make("li", null, one)),
      ),
    );
  }
  if (finding.expected) {
    add("After", finding.expected);
  }
  return make(
    "article",
    { class: `finding ${finding.consequence_of ? "follows" : finding.role}`, id: `finding-${finding.id}` },
    make(
      "h3",
      null,
      `${number}. ${titleOf(finding)}: ${finding.looks_for} `,
      make("span", { class: "id" }, `(${finding.id})`),
    ),
    make("dl", null, parts),
  );
}

const findingElements = []; // { element, text }: what the filter looks at

function drawFindings() {
  const section = byId("findings");
  diagnosis.findings.forEach((finding, i) => {
    const element = drawFinding(finding, i + 1);
    findingElements.push({ element, text: element.textContent.toLowerCase() });
    section.append(element);
  });
  if (diagnosis.findings.length === 0) {
    section.append(
      noData(
        diagnosis.verdict === "healthy"
          ? "Nothing is wrong that can be seen from these files."
          : "Nothing was found, and too little was there to call the run healthy: see what is unknown, below.",
      ),
    );
  }
}

function drawChecked() {
  const section = byId("checked");
  const list = (label, found, row, columns) =>
    found.length === 0
      ? null
      : make(
          "details",
          null,
          make("summary", null, `${label}: ${count(found.length)}`),
          makeTable(null, columns, found.map(row)),
        );
  section.append(
    ...[
      list("Looked for and not found", diagnosis.not_found, (one) => [one.id, one.looks_for], ["Rule", "Looks for"]),
      list(
        "Unknown, for want of input",
        diagnosis.unknown,
        (one) => [one.id, one.looks_for, one.missing.join("; or ")],
        ["Rule", "Looks for", "Needs"],
      ),
    ].filter(Boolean),
  );
}

function drawFiles() {
  byId("files").append(
    makeTable(
      null,
      ["File", "Kind", "Trouble"],
      diagnosis.files.map((file) => [file.file, file.used ? file.kind : `${file.kind} (not used)`, file.trouble ?? ""]),
    ),
  );
}
