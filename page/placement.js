// The nodes on their leaves: a cell for each node, on a canvas of which only what is seen is drawn.
const placement = data.placement;
const nodeCount = placement.node.length;
// States of a node.
const idle = 0;
const inJob = 1;
const follows = 2;
const warned = 3;

/// What ranks said, by node.
const nodes = (() => {
  const state = Uint8Array.from(placement.in_job);
  const ranksOf = Array.from({ length: nodeCount }, () => []);
  const ranks = data.ranks;
  for (let i = 0; ranks && i < ranks.rank.length; ++i) {
    const node = ranks.node[i];
    if (node < 0) {
      continue;
    }
    ranksOf[node].push(i);
    const warning = ranks.warnings[ranks.first[i]];
    if (warning && !warning.harmless) {
      state[node] = Math.max(state[node], warning.follows ? follows : warned);
    }
  }
  const leafOf = (node) => (placement.leaf[node] < 0 ? "" : placement.leaves[placement.leaf[node]]);
  const text = placement.node.map((name, node) => `${name} ${leafOf(node)}`.toLowerCase());
  return { state, ranksOf, leafOf, text, isShown: new Uint8Array(nodeCount).fill(1) };
})();

const stateNames = [
  "not of the job",
  "of the job",
  "of the job; warnings that follow from others",
  "of the job; warnings of its own",
];

/// Cells differ in shape as well as in colour: an outline, a square, a square with a bar, one with a cross.
function drawCell(pen, x, y, side, state, isDim) {
  pen.globalAlpha = isDim ? 0.16 : 1;
  pen.fillStyle = pen.strokeStyle = color(["idle", "blue", "purple", "orange"][state]);
  pen.lineWidth = 1.5;
  if (state === idle) {
    pen.strokeRect(x + 1, y + 1, side - 2, side - 2);
  } else {
    pen.fillRect(x, y, side, side);
  }
  pen.strokeStyle = pen.fillStyle = color("page");
  pen.beginPath();
  if (state === warned) {
    pen.moveTo(x + 3, y + 3);
    pen.lineTo(x + side - 3, y + side - 3);
    pen.moveTo(x + side - 3, y + 3);
    pen.lineTo(x + 3, y + side - 3);
  } else if (state === follows) {
    pen.moveTo(x + 3, y + side / 2);
    pen.lineTo(x + side - 3, y + side / 2);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

const cell = { side: 13, step: 16, line: 19, label: 0 };
const offFabric = placement.topology ? "on no leaf" : "no topology given";

/// Lines of cells, top to bottom: each leaf has one, or several where its nodes do not fit.
function makeLines(width, jobOnly) {
  const groups = new Map();
  for (let node = 0; node < nodeCount; ++node) {
    const leaf = placement.leaf[node];
    if (!groups.has(leaf)) {
      groups.set(leaf, []);
    }
    groups.get(leaf).push(node);
  }
  const columns = Math.max(4, Math.floor((width - cell.label) / cell.step));
  const lines = [];
  for (const [leaf, members] of groups) {
    if (jobOnly && !members.some((node) => placement.in_job[node])) {
      continue;
    }
    const name = leaf >= 0 ? placement.leaves[leaf] : offFabric;
    for (let at = 0; at < members.length; at += columns) {
      lines.push({ name: at === 0 ? name : "", nodes: members.slice(at, at + columns) });
    }
  }
  return lines;
}

class FabricMap {
  constructor(host, readout, jobOnly) {
    this.host = host;
    this.readout = readout;
    this.jobOnly = jobOnly;
    this.at = null; // { line, column } under the cursor
    this.tall = make("div", { class: "tall" });
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.tall.append(this.canvas);
    host.append(this.tall);
    host.addEventListener("scroll", () => this.draw());
    host.addEventListener("keydown", (event) => this.onKey(event));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("click", (event) => {
      this.point(event);
      this.open();
    });
    onRedraw(() => this.layOut());
    onFilter(() => this.draw());
  }

  /// As wide as the longest name, within limits: it is before each line.
  fitLabel() {
    const names = [...placement.leaves, placement.leaf.includes(-1) ? offFabric : ""];
    const longest = names.reduce((a, b) => (b.length > a.length ? b : a), "");
    const pen = this.canvas.getContext("2d");
    pen.font = axisFont;
    cell.label = Math.min(168, Math.ceil(pen.measureText(longest).width) + 24);
  }

  layOut() {
    this.fitLabel();
    this.width = isPrinting ? paperWidth : Math.max(320, this.host.clientWidth);
    this.lines = makeLines(this.width, this.jobOnly.checked);
    const height = this.lines.length * cell.line + 8;
    this.tall.style.height = `${height}px`;
    // On paper there is nothing to scroll; a canvas has its limits.
    this.height = isPrinting ? Math.min(height, 4000) : Math.min(height, 430);
    const ratio = devicePixelRatio || 1;
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.height * ratio;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.at = null;
    this.draw();
  }

  draw() {
    const pen = this.canvas.getContext("2d");
    const ratio = devicePixelRatio || 1;
    const top = isPrinting ? 0 : this.host.scrollTop;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = color("page");
    pen.fillRect(0, 0, this.width, this.height);
    pen.font = axisFont;
    pen.textBaseline = "middle";
    const first = Math.max(0, Math.floor((top - 4) / cell.line));
    const last = Math.min(this.lines.length, Math.ceil((top + this.height) / cell.line));
    for (let i = first; i < last; ++i) {
      const y = 4 + i * cell.line - top;
      pen.fillStyle = color("dim");
      pen.fillText(fitted(pen, this.lines[i].name, cell.label - 20), 8, y + cell.side / 2 + 1);
      this.lines[i].nodes.forEach((node, column) =>
        drawCell(pen, cell.label + column * cell.step, y, cell.side, nodes.state[node], !nodes.isShown[node]),
      );
    }
    if (this.at && !isPrinting) {
      pen.strokeStyle = color("text");
      pen.lineWidth = 2;
      pen.strokeRect(
        cell.label + this.at.column * cell.step - 1.5,
        4 + this.at.line * cell.line - top - 1.5,
        cell.side + 3,
        cell.side + 3,
      );
    }
  }

  node() {
    return this.at ? this.lines[this.at.line].nodes[this.at.column] : null;
  }

  select(at) {
    this.at = at;
    const node = this.node();
    this.readout.textContent = node === null ? "" : nodeText(node);
    this.draw();
  }

  point(event) {
    const line = Math.floor((event.offsetY + this.host.scrollTop - 4) / cell.line);
    const column = Math.floor((event.offsetX - cell.label) / cell.step);
    const isCell = this.lines[line]?.nodes[column] !== undefined;
    this.select(isCell ? { line, column } : null);
  }

  open() {
    if (this.node() !== null) {
      openNode(this.node());
    }
  }

  onKey(event) {
    const moves = {
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      Home: [-Infinity, 0],
      End: [Infinity, 0],
    };
    if (event.key === "Enter") {
      event.preventDefault();
      this.open();
    } else if (event.key === "Escape") {
      this.select(null);
    } else if (moves[event.key] && this.lines.length > 0) {
      event.preventDefault();
      this.move(...moves[event.key]);
    }
  }

  move(down, right) {
    const clamp = (value, most) => Math.min(most, Math.max(0, value));
    const from = this.at ?? { line: 0, column: -right };
    const line = clamp(from.line + down, this.lines.length - 1);
    const column = clamp(from.column + right, this.lines[line].nodes.length - 1);
    const y = line * cell.line;
    if (y < this.host.scrollTop) {
      this.host.scrollTop = y;
    } else if (y + cell.line > this.host.scrollTop + this.height) {
      this.host.scrollTop = y + cell.line + 8 - this.height;
    }
    this.select({ line, column });
  }
}

/// The text, cut to a width.
function fitted(pen, text, width) {
  if (pen.measureText(text).width <= width) {
    return text;
  }
  let length = text.length;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > width) {
    --length;
  }
  return `${text.slice(0, length)}…`;
}

function nodeText(node) {
  const leaf = nodes.leafOf(node);
  const ranks = nodes.ranksOf[node].length;
  return [
    placement.node[node],
    leaf ? `${leafWord} ${leaf}` : null,
    stateNames[nodes.state[node]],
    ranks > 0 ? counted(ranks, "rank") : null,
  ]
    .filter(Boolean)
    .join(", ");
}

function placementLegend() {
  const key = (state) => {
    const many = nodes.state.reduce((sum, one) => sum + (one === state ? 1 : 0), 0);
    if (many === 0) {
      return null;
    }
    const canvas = make("canvas", { width: "26", height: "26", "aria-hidden": "true" });
    canvas.style.width = canvas.style.height = "13px";
    onRedraw(() => {
      const pen = canvas.getContext("2d");
      pen.setTransform(2, 0, 0, 2, 0, 0);
      pen.clearRect(0, 0, 13, 13);
      drawCell(pen, 0, 0, 13, state, false);
    });
    return make("li", null, canvas, `${stateNames[state]} (${count(many)})`);
  };
  return make("ul", { class: "legend" }, [idle, inJob, follows, warned].map(key));
}

function leafTable() {
  const rows = placement.leaves.map((name) => [name, 0, 0, 0]);
  const off = [offFabric, 0, 0, 0];
  for (let node = 0; node < nodeCount; ++node) {
    const row = rows[placement.leaf[node]] ?? off;
    row[1] += placement.in_job[node];
    row[2] += 1;
    row[3] += nodes.state[node] >= follows ? 1 : 0;
  }
  const all = off[2] > 0 ? [...rows, off] : rows;
  const most = 2000;
  return makeTable(
    all.length > most ? `The first ${count(most)} of ${count(all.length)}` : null,
    [leafWord[0].toUpperCase() + leafWord.slice(1), "#Nodes of the job", "#Nodes", "#With warnings"],
    all.slice(0, most).map((row) => [row[0], count(row[1]), count(row[2]), count(row[3])]),
  );
}

function placementText() {
  if (!placement.topology) {
    return "No topology was given: --topology topology.conf shows on which leaves the nodes are.";
  }
  const least =
    placement.least > 0
      ? `; ${counted(placement.least, leafWord, leavesWord)} could hold as many on an idle fabric`
      : "";
  const off =
    placement.off_fabric > 0 ? ` ${counted(placement.off_fabric, "node")} of the job are not in the topology.` : "";
  const span = `${counted(placement.span, leafWord, leavesWord)} of ${count(placement.leaves.length)}`;
  return `${counted(placement.job_nodes, "node")} of the job on ${span} in ${placement.topology}${least}.${off}`;
}

function drawPlacement() {
  const section = byId("placement");
  if (nodeCount === 0) {
    section.append(noData("No nodes are known: a log of NCCL names them, or --nodes; --topology says where they are."));
    return;
  }
  const jobOnly = make("input", { type: "checkbox", id: "job-only" });
  jobOnly.checked = placement.leaves.length > 40 && placement.job_nodes > 0;
  const host = make("div", {
    class: "map",
    tabindex: "0",
    role: "img",
    id: "map",
    "aria-label": `Nodes by ${leafWord}. Arrow keys move, Enter shows one, Escape leaves it. A table follows.`,
  });
  const readout = make("p", { class: "readout", role: "status", "aria-live": "polite" });
  section.append(make("p", null, placementText()), placementLegend());
  if (placement.leaves.length > 0) {
    section.append(make("div", { class: "options" }, make("label", null, jobOnly, ` only ${leavesWord} of the job`)));
  }
  section.append(host, readout);
  const map = new FabricMap(host, readout, jobOnly);
  jobOnly.addEventListener("change", () => map.layOut());
  section.append(tableBehind(`${leavesWord[0].toUpperCase()}${leavesWord.slice(1)} as a table`, leafTable));
}
