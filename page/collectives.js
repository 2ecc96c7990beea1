// Tables of nccl-tests beside the model of them.
function tableCaption(table) {
  return [
    `${table.file}: `,
    table.ranks > 0 ? `${counted(table.ranks, "rank")} on ${counted(table.hosts, "node")}` : "ranks not listed",
    table.device ? `, ${table.device}` : "",
    table.nccl ? `, NCCL ${table.nccl}` : "",
    table.average === null ? "" : `, average ${short(table.average)} GB/s`,
  ];
}

/// Columns over all sizes that were measured or modelled.
function curveColumns(table) {
  const curve = table.model ? table.model.curve : [];
  const least = table.rows.reduce((a, row) => Math.min(a, row[0]), Infinity);
  const most = table.rows.reduce((a, row) => Math.max(a, row[0]), 0);
  const modelled = new Map(curve.filter((one) => one[0] >= least && one[0] <= most).map((one) => [one[0], one]));
  (table.model?.rows ?? []).forEach((one) => modelled.set(one[0], one));
  const measured = new Map(table.rows.map((row) => [row[0], row]));
  const sizes = [...new Set([...modelled.keys(), ...measured.keys()])].sort((a, b) => a - b);
  return { sizes, measured, modelled };
}

function describeSize(columns, i) {
  const bytes = columns.sizes[i];
  const seen = columns.measured.get(bytes);
  const model = columns.modelled.get(bytes);
  return [
    size(bytes),
    seen ? `measured ${short(seen[2])} GB/s in ${seconds(seen[1] / 1e6)}` : null,
    model ? `modelled ${short(model[2])} GB/s in ${seconds(model[1] / 1e6)}, ${model[3]}` : null,
  ]
    .filter(Boolean)
    .join(", ");
}

/// What both charts have over the size.
function overSizes(columns, which) {
  const of = (from) => columns.sizes.map((bytes) => from.get(bytes)?.[which] ?? null);
  return [columns.sizes, of(columns.measured), of(columns.modelled)];
}

const sizeScale = { time: false, distr: 3, log: 2 };
const sizeAxis = () =>
  axisX({ label: "size", space: 70, values: (self, ticks) => ticks.map((tick) => (tick === null ? "" : size(tick))) });
const bothSeries = () => [
  { label: "size" },
  line("measured", "orange", {
    points: { show: true, size: 7, stroke: color("orange"), fill: color("page"), width: 1.5 },
  }),
  line("modelled", "blue", { points: { show: false }, dash: [8, 3] }),
];

/// What large messages get.
function addBandwidths(figure, table, columns) {
  const values = overSizes(columns, 2);
  const ceiling = table.model?.ceiling ?? null;
  if (ceiling !== null) {
    values.push(columns.sizes.map(() => ceiling));
  }
  const atMost = () =>
    line(`NVIDIA's figure for ${table.model.ceiling_of}`, "dim", { points: { show: false }, dash: [2, 4] });
  addChart(
    figure,
    `Bus bandwidth over size, ${table.file}`,
    () => ({
      scales: { x: sizeScale, y: { range: (self, min, max) => [0, Math.max(1e-3, max) * 1.08] } },
      axes: [sizeAxis(), axisY({ label: "bus bandwidth, GB/s" })],
      series: [...bothSeries(), ...(ceiling === null ? [] : [atMost()])],
      cursor: { sync: { key: table.file } },
      legend: { live: false },
    }),
    values,
    (i) => describeSize(columns, i),
  );
}

/// What small messages wait.
function addWaits(figure, table, columns) {
  const ticks = (self, all) => all.map((tick) => (tick === null ? "" : seconds(tick / 1e6)));
  const filter = (self, all) => all.map((tick) => (Number.isInteger(Math.log10(tick)) ? tick : null));
  const decades = () =>
    axisY({ label: "time", values: ticks, filter, grid: { stroke: color("grid"), width: 1, filter } });
  addChart(
    figure,
    `Time over size, ${table.file}`,
    () => ({
      height: 210,
      scales: { x: sizeScale, y: { distr: 3, log: 10 } },
      axes: [sizeAxis(), decades()],
      series: bothSeries(),
      cursor: { sync: { key: table.file } },
      legend: { show: false },
    }),
    overSizes(columns, 1),
    (i) => describeSize(columns, i),
  );
}

function addCurves(figure, table) {
  const columns = curveColumns(table);
  addBandwidths(figure, table, columns);
  addWaits(figure, table, columns);
}

function comparedTable(table) {
  const models = table.model ? table.model.rows : [];
  const rows = table.rows.map((row, i) => {
    const model = models[i];
    return [
      size(row[0]),
      seconds(row[1] / 1e6),
      model ? seconds(model[1] / 1e6) : "–",
      model ? percent(row[1] / model[1] - 1) : "–",
      short(row[2]),
      model ? short(model[2]) : "–",
      model ? model[3] : "",
    ];
  });
  return makeTable(
    "Time, out of place; what was measured over the model less 1; bus bandwidth in GB/s",
    ["#Size", "#Measured", "#Modelled", "#Slower by", "#Measured GB/s", "#Modelled GB/s", "NCCL takes"],
    rows,
  );
}

function drawTable(table) {
  const figure = make("figure", null, make("figcaption", null, tableCaption(table)));
  const parts = [figure];
  if (!table.model) {
    parts.push(noData(`Not modelled: ${table.no_model}.`));
  }
  if (table.rows.length === 0) {
    parts.push(noData("The table has no rows, its average alone."));
    return parts;
  }
  parts.push(tableBehind("Rows as a table", () => comparedTable(table)));
  if (table.model) {
    parts.push(
      make(
        "details",
        null,
        make("summary", null, "What the model assumes"),
        makeTable(
          null,
          ["What", "Value", "Source"],
          table.model.assumed.map((one) => [one.what, one.value, one.source]),
        ),
        table.model.notes.map((note) => make("p", null, note)),
      ),
    );
  }
  return parts;
}

function drawTables() {
  const section = byId("tables");
  if (data.tables.length === 0) {
    section.append(noData("No file has a table of nccl-tests: all_reduce_perf -b 8 -e 8G -f 2 -g 1"));
    return;
  }
  for (const table of data.tables) {
    const parts = drawTable(table);
    section.append(...parts);
    if (table.rows.length > 1) {
      addCurves(parts[0], table);
    }
  }
}
