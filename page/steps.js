// The time of each step, and the loss.

// Marks of a step, added.
const afterValidation = 1;
const afterCheckpoint = 2;
const afterStart = 4;

/// By iteration where those ascend; a run that went back is shown by line of the log.
function stepAxis(steps) {
  const ascends = steps.iteration.every((one, i) => i === 0 || one > steps.iteration[i - 1]);
  return ascends ? { label: "iteration", values: steps.iteration } : { label: "line of the log", values: steps.line };
}

function stepText(steps, i) {
  const marks = steps.marks[i];
  const after = [
    marks & afterStart && "the start",
    marks & afterCheckpoint && "a checkpoint",
    marks & afterValidation && "a validation",
  ].filter(Boolean);
  return [
    `Iteration ${count(steps.iteration[i])}`,
    steps.time[i] === null ? null : `${seconds(steps.time[i])} (${steps.unit})`,
    steps.loss && steps.loss[i] !== null ? `loss ${short(steps.loss[i])}` : null,
    after.length > 0 ? `after ${after.join(" and ")}` : null,
    `${steps.file}:${steps.line[i]}`,
  ]
    .filter(Boolean)
    .join(", ");
}

function scaleOf(times) {
  const most = times.reduce((a, b) => Math.max(a, b ?? 0), 0);
  return most >= 1 || most === 0 ? ["s", 1] : most >= 1e-3 ? ["ms", 1e3] : most >= 1e-6 ? ["µs", 1e6] : ["ns", 1e9];
}

/// The usual step: the median, or where times drift a line through it.
function usualStep(steps) {
  const last = Math.max(1, steps.time.length - 1);
  const drift = steps.trend_share;
  const label = drift === 0 ? "median" : `trend, ${drift > 0 ? "+" : ""}${percent(drift)} over the log`;
  return { label, values: steps.time.map((time, i) => steps.median * (1 + drift * (i / last - 0.5))) };
}

function slowText(slow) {
  const every = slow.every === null ? "" : `, every ${short(slow.every)} iterations`;
  return slow.count === 0
    ? ""
    : ` ${counted(slow.count, "slow step")}${every}, lost ${percent(slow.lost_share)} of the time.`;
}

function addTimes(section, steps, xs) {
  const [unit, factor] = scaleOf(steps.time);
  const what = steps.unit.replace(/^s /, "");
  const scaled = steps.time.map((time) => (time === null ? null : time * factor));
  const marked = (mark) => scaled.map((time, i) => (steps.marks[i] & mark ? time : null));
  const filled = () => ({ points: { show: true, size: 6, stroke: color("purple"), fill: color("purple") } });
  const marks = [
    { label: "after a checkpoint", hue: "orange", values: marked(afterCheckpoint), more: () => ({}) },
    { label: "after a validation", hue: "purple", values: marked(afterValidation), more: filled },
  ].filter((mark) => mark.values.some((value) => value !== null));
  const usual = usualStep(steps);
  const figure = make(
    "figure",
    null,
    make(
      "figcaption",
      null,
      `${counted(steps.lines, "line")} about steps in ${steps.file}`,
      steps.stride > 1 ? `, of which one in ${steps.stride} is shown, by chance` : "",
      `. Median ${seconds(steps.median)} ${what}, ${counted(steps.warm_up, "line")} of warm-up left out.`,
      slowText(steps.slow),
      " Drag to zoom, double-click to see all.",
    ),
  );
  section.append(figure);
  addChart(
    figure,
    `Time of ${what}`,
    () => ({
      scales: { x: { time: false } },
      axes: [axisX({ label: xs.label }), axisY({ label: `${unit} ${what}` })],
      series: [
        { label: xs.label },
        line("time", "blue", { points: { show: steps.time.length < 200 } }),
        line(usual.label, "text", { dash: [6, 4], points: { show: false } }),
        ...marks.map((mark) => dots(mark.label, mark.hue, mark.more())),
      ],
      cursor: { sync: { key: "steps" } },
      legend: { live: false },
    }),
    [xs.values, scaled, usual.values.map((time) => time * factor), ...marks.map((mark) => mark.values)],
    (i) => stepText(steps, i),
  );
}

function addLosses(section, steps, xs) {
  const figure = make(
    "figure",
    null,
    make("figcaption", null, "Loss", steps.spikes.length > 0 ? `, with ${counted(steps.spikes.length, "spike")}` : ""),
  );
  section.append(figure);
  const spiked = new Set(steps.spikes.map((spike) => spike.line));
  const spikes = steps.loss.map((loss, i) => (spiked.has(steps.line[i]) ? loss : null));
  addChart(
    figure,
    "Loss",
    () => ({
      height: 190,
      scales: { x: { time: false } },
      axes: [axisX({ label: xs.label }), axisY({ label: "loss" })],
      series: [
        { label: xs.label },
        line("loss", "green", { points: { show: steps.time.length < 200 } }),
        ...(spiked.size > 0 ? [dots("spike", "orange")] : []),
      ],
      cursor: { sync: { key: "steps" } },
      legend: { live: false },
    }),
    spiked.size > 0 ? [xs.values, steps.loss, spikes] : [xs.values, steps.loss],
    (i) => stepText(steps, i),
  );
}

function drawSteps() {
  const section = byId("steps");
  const steps = data.steps;
  if (!steps) {
    section.append(noData("No file has lines about training steps."));
    return;
  }
  const xs = stepAxis(steps);
  if (steps.median === null) {
    section.append(noData("The log has too few timed steps."));
  } else {
    addTimes(section, steps, xs);
  }
  if (steps.loss) {
    addLosses(section, steps, xs);
  }
  if (steps.levels.length > 1) {
    section.append(
      makeTable(
        "Levels of the step time",
        ["#From iteration", "#To iteration", "#Median"],
        steps.levels.map((level) => [count(level.first), count(level.last), seconds(level.time)]),
      ),
    );
  }
  section.append(tableBehind("Steps as a table", () => stepTable(steps)));
}

/// A browser lays out a few thousand rows in no time; of more it is every so many.
function stepTable(steps) {
  const most = 2000;
  const every = Math.ceil(steps.line.length / most);
  const rows = [];
  for (let i = 0; i < steps.line.length; i += every) {
    rows.push([
      count(steps.iteration[i]),
      seconds(steps.time[i]),
      steps.loss ? short(steps.loss[i]) : "",
      `${steps.file}:${steps.line[i]}`,
    ]);
  }
  return makeTable(every > 1 ? `One step in ${every}` : null, ["#Iteration", "#Time", "#Loss", "At"], rows);
}
