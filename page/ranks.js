// What NCCL's log says of each rank: a grid of which only the rows that are seen are elements.
const ranks = data.ranks;
const rankCount = ranks ? ranks.rank.length : 0;
const rowHeight = 26;

const hostOf = (i) => (ranks.node[i] < 0 ? "" : placement.node[ranks.node[i]]);
const leafOfRank = (i) => (ranks.node[i] < 0 ? "" : nodes.leafOf(ranks.node[i]));
const warningOf = (i) => (ranks.first[i] < 0 ? null : ranks.warnings[ranks.first[i]]);
const placeOf = (i) => `${ranks.files[ranks.file[i]]}:${ranks.line[i]}`;

const rankColumns = [
  {
    name: "Rank",
    width: 7,
    number: true,
    of: (i) => ranks.rank[i],
    text: (i) => (ranks.rank[i] < 0 ? "?" : String(ranks.rank[i])),
  },
  { name: "Host", width: 15, of: hostOf },
  { name: leafWord[0].toUpperCase() + leafWord.slice(1), width: 12, of: leafOfRank },
  {
    name: "GPU",
    width: 5,
    number: true,
    of: (i) => ranks.gpu[i],
    text: (i) => (ranks.gpu[i] < 0 ? "?" : String(ranks.gpu[i])),
  },
  { name: "NICs", width: 7, number: true, of: (i) => ranks.nics[i] },
  { name: "GDR", width: 7, number: true, of: (i) => ranks.gdr[i] },
  { name: "Net", width: 7, number: true, of: (i) => ranks.net[i] },
  { name: "P2P", width: 7, number: true, of: (i) => ranks.p2p[i] },
  { name: "SHM", width: 7, number: true, of: (i) => ranks.shm[i] },
  {
    name: "Init",
    width: 8,
    number: true,
    of: (i) => ranks.init_s[i],
    text: (i) => (ranks.init_s[i] > 0 ? seconds(ranks.init_s[i]) : ""),
  },
  { name: "Warnings", width: 10, number: true, of: (i) => ranks.warned[i] },
  { name: "First warning", width: 24, of: (i) => warningOf(i)?.kind ?? "", warns: true },
];

const textIn = (column, i) => (column.text ? column.text(i) : String(column.of(i)));

const order = {
  rows: new Uint32Array(0),
  column: null,
  down: false,
  warnedOnly: false,
  isShown: new Uint8Array(rankCount).fill(1),
};

function sortRanks() {
  const rows = [];
  for (let i = 0; i < rankCount; ++i) {
    if (order.isShown[i] && !(order.warnedOnly && (!warningOf(i) || warningOf(i).harmless))) {
      rows.push(i);
    }
  }
  const { column, down } = order;
  if (column) {
    const keys = Array.from({ length: rankCount }, (_, i) => column.of(i));
    const sign = down ? -1 : 1;
    const compare = column.number
      ? (a, b) => keys[a] - keys[b]
      : (a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0);
    rows.sort((a, b) => sign * compare(a, b) || a - b);
  }
  order.rows = Uint32Array.from(rows);
}

const isNumberWord = (word) => /^\d+$/.test(word);

/// Which nodes and ranks have all words: each word in a node's name, a leaf's or a warning, or a rank's number.
function filterRanks(words) {
  order.isShown.fill(1);
  const nodeHas = new Uint8Array(nodeCount).fill(1);
  for (const word of words) {
    const inNode = Uint8Array.from(nodes.text, (text) => (text.includes(word) ? 1 : 0));
    const inWarning = (ranks?.warnings ?? []).map((one) => `${one.kind} ${one.text}`.toLowerCase().includes(word));
    const number = isNumberWord(word) ? Number(word) : -1;
    for (let i = 0; i < rankCount; ++i) {
      const node = ranks.node[i];
      const has = (node >= 0 && inNode[node]) || inWarning[ranks.first[i]] || (number >= 0 && ranks.rank[i] === number);
      order.isShown[i] &= has ? 1 : 0;
    }
    for (let node = 0; node < nodeCount; ++node) {
      nodeHas[node] &= inNode[node];
    }
  }
  nodes.isShown.set(nodeHas);
  for (let i = 0; i < rankCount; ++i) {
    if (order.isShown[i] && ranks.node[i] >= 0) {
      nodes.isShown[ranks.node[i]] = 1;
    }
  }
  const sum = (all) => all.reduce((a, b) => a + b, 0);
  return [
    nodeCount > 0 ? `${count(sum(nodes.isShown))} of ${counted(nodeCount, "node")}` : null,
    rankCount > 0 ? `${count(sum(order.isShown))} of ${counted(rankCount, "rank")}` : null,
  ]
    .filter(Boolean)
    .join(", ");
}

class RankGrid {
  constructor(host) {
    this.host = host;
    this.active = 0;
    this.head = make(
      "tr",
      { "aria-rowindex": "1" },
      rankColumns.map((column) => this.headCell(column)),
    );
    this.body = make("tbody");
    this.table = make(
      "table",
      { role: "grid", tabindex: "0", id: "rank-grid", "aria-label": "Ranks. Arrow keys move, Enter shows one." },
      make("thead", null, this.head),
      this.body,
    );
    host.append(this.table);
    host.addEventListener("scroll", () => this.draw());
    this.table.addEventListener("keydown", (event) => this.onKey(event));
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest("tr[data-at]");
      if (row) {
        this.active = Number(row.dataset.at);
        this.draw();
        openRank(order.rows[this.active]);
      }
    });
  }

  headCell(column) {
    const cellOf = make(
      "th",
      { scope: "col", class: column.number ? "n" : null },
      make("button", { type: "button", onclick: () => this.sortBy(column) }, column.name),
    );
    cellOf.style.width = `${column.width}%`;
    return cellOf;
  }

  sortBy(column) {
    order.down =
      order.column === column ? !order.down : Boolean(column.number && column.name !== "Rank" && column.name !== "GPU");
    order.column = column;
    [...this.head.children].forEach((one, i) => {
      const isIt = rankColumns[i] === column;
      one.querySelector("button").textContent = rankColumns[i].name + (isIt ? (order.down ? " ↓" : " ↑") : "");
      if (isIt) {
        one.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      } else {
        one.removeAttribute("aria-sort");
      }
    });
    this.refresh();
  }

  refresh() {
    sortRanks();
    this.active = 0;
    this.host.scrollTop = 0;
    this.table.setAttribute("aria-rowcount", String(order.rows.length + 1));
    this.draw();
  }

  row(at) {
    const i = order.rows[at];
    return make(
      "tr",
      {
        id: `rank-row-${at}`,
        "data-at": at,
        "aria-rowindex": at + 2,
        "aria-selected": at === this.active ? "true" : null,
      },
      rankColumns.map((column) =>
        make(
          "td",
          {
            class:
              [column.number ? "n" : "", column.warns && warningOf(i) && !warningOf(i).harmless ? "warned" : ""]
                .join(" ")
                .trim() || null,
            title: column.number ? null : textIn(column, i),
          },
          textIn(column, i),
        ),
      ),
    );
  }

  draw() {
    const spare = 8;
    const first = Math.max(0, Math.floor(this.host.scrollTop / rowHeight) - spare);
    const last = Math.min(order.rows.length, first + Math.ceil(this.host.clientHeight / rowHeight) + 2 * spare);
    const space = (rows) => {
      const one = make("tr", { class: "space", "aria-hidden": "true" }, make("td", { colspan: rankColumns.length }));
      one.firstChild.style.height = `${rows * rowHeight}px`;
      return one;
    };
    const rows = [];
    for (let at = first; at < last; ++at) {
      rows.push(this.row(at));
    }
    this.body.replaceChildren(space(first), ...rows, space(order.rows.length - last));
    const isSeen = this.active >= first && this.active < last;
    if (isSeen) {
      this.table.setAttribute("aria-activedescendant", `rank-row-${this.active}`);
    } else {
      this.table.removeAttribute("aria-activedescendant");
    }
  }

  onKey(event) {
    if (event.target !== this.table || order.rows.length === 0) {
      return; // a button of the head
    }
    const page = Math.max(1, Math.floor(this.host.clientHeight / rowHeight) - 2);
    const moves = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter") {
      event.preventDefault();
      openRank(order.rows[this.active]);
    } else if (moves[event.key] !== undefined) {
      event.preventDefault();
      this.active = Math.min(order.rows.length - 1, Math.max(0, this.active + moves[event.key]));
      const y = this.active * rowHeight;
      const room = this.host.clientHeight - 2 * rowHeight - 8;
      if (y < this.host.scrollTop) {
        this.host.scrollTop = y;
      } else if (y > this.host.scrollTop + room) {
        this.host.scrollTop = y - room;
      }
      this.draw();
    }
  }
}

/// Escape closes it, and the focus goes back to where it was.
function openDetail(title, ...content) {
  const dialog = byId("detail");
  dialog.replaceChildren(
    make("h3", { id: "detail-title" }, title),
    ...content,
    make("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Close"),
  );
  dialog.showModal();
}

function openNode(node) {
  const of = nodes.ranksOf[node];
  const rows = of.map((i) => [
    textIn(rankColumns[0], i),
    textIn(rankColumns[3], i),
    String(ranks.warned[i]),
    warningOf(i)?.kind ?? "",
    warningOf(i) ? placeOf(i) : "",
  ]);
  openDetail(
    placement.node[node],
    make("p", { class: "dim" }, nodeText(node)),
    of.length > 0
      ? makeTable(null, ["#Rank", "#GPU", "#Warnings", "First warning", "At"], rows)
      : noData("No line of the log is from it."),
  );
}

function openRank(i) {
  const warning = warningOf(i);
  const facts = rankColumns.slice(0, -1).map((column) => [column.name, textIn(column, i)]);
  openDetail(
    ranks.rank[i] < 0 ? "A rank without a number" : `Rank ${ranks.rank[i]}`,
    makeTable(null, ["What", "#"], facts),
    ...(warning
      ? [
          make("h3", null, `First warning: ${warning.kind}`),
          make("p", { class: "mono" }, placeOf(i)),
          make("p", { class: "mono" }, warning.text),
          make(
            "p",
            { class: "dim" },
            warning.follows ? "It follows from another. " : "",
            `${counted(warning.lines, "line")} like it, the first at ${warning.at}.`,
          ),
        ]
      : [noData("It warned of nothing.")]),
  );
}

function drawRanks() {
  const section = byId("ranks");
  onFilter(filterRanks); // nodes too: before the picture of them is drawn
  if (rankCount === 0) {
    section.append(noData("No file is a log of NCCL_DEBUG=INFO."));
    return;
  }
  const { absent } = ranks;
  if (absent.length > 0) {
    const shown = 200;
    section.append(
      make(
        "p",
        { class: "is-bad" },
        `No line is from ${counted(absent.length, "rank")} of ${count(ranks.world)}: `,
        absent.slice(0, shown).join(", "),
        absent.length > shown ? ", …" : "",
      ),
    );
  }
  const only = make("input", { type: "checkbox", id: "warned-only" });
  const host = make("div", { class: "grid" });
  section.append(
    make(
      "p",
      { class: "dim" },
      "NICs are those that carry its connections. Connections are lines of the log: GDR from the GPU to the NIC, ",
      "Net to it through the memory of the node, P2P by NVLink or PCI, SHM by shared memory.",
    ),
    make("div", { class: "options" }, make("label", null, only, " only with warnings")),
    host,
  );
  const grid = new RankGrid(host);
  grid.refresh();
  only.addEventListener("change", () => {
    order.warnedOnly = only.checked;
    grid.refresh();
  });
  onFilter(() => {
    grid.refresh();
    return "";
  });
}
