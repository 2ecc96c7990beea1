// The data of the page, and how elements and numbers are made of it.
//
// Names of hosts, lines of logs and names of files are whatever somebody wrote: they come into the page as text nodes
// and attributes only, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const diagnosis = data.diagnosis;

const byId = (id) => document.getElementById(id);

/// An element with attributes, listeners (`onclick`) and children; texts become text nodes, null is left out.
function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key.startsWith("on")) {
      element.addEventListener(key.slice(2), value);
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(key, value === true ? "" : value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const count = (number) => number.toLocaleString("en-US");
const counted = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
const percent = (share, digits = 1) => `${(share * 100).toFixed(digits)} %`;

/// Three digits and more: 0.0312, 3.12, 312, 31200.
function short(number) {
  if (number === null || !Number.isFinite(number)) {
    return "–";
  }
  return Math.abs(number) >= 1000 ? String(Math.round(number)) : String(Number(number.toPrecision(3)));
}

/// A size as nccl-tests means it: 8 B, 64 KiB, 1 GiB.
function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (bytes >= 1024 && at + 1 < units.length) {
    bytes /= 1024;
    ++at;
  }
  return `${short(bytes)} ${units[at]}`;
}

/// Seconds with the unit that fits: 812 ms, 1.53 s.
function seconds(time) {
  if (time === null || !Number.isFinite(time)) {
    return "–";
  }
  const [unit, factor] = [
    ["s", 1],
    ["ms", 1e3],
    ["µs", 1e6],
    ["ns", 1e9],
  ].find(([, by]) => time * by >= 1) ?? ["ns", 1e9];
  return `${short(time * factor)} ${unit}`;
}

/// A table of texts; columns that begin with "#" are of numbers.
function makeTable(caption, columns, rows) {
  const isNumber = columns.map((column) => column.startsWith("#"));
  const isNarrow = columns.length <= 4 && isNumber.slice(1).every(Boolean);
  return make(
    "table",
    { class: isNarrow ? "narrow" : null },
    caption ? make("caption", null, caption) : null,
    make(
      "thead",
      null,
      make(
        "tr",
        null,
        columns.map((column, i) =>
          make("th", { scope: "col", class: isNumber[i] ? "n" : null }, column.replace(/^#/, "")),
        ),
      ),
    ),
    make(
      "tbody",
      null,
      rows.map((row) =>
        make(
          "tr",
          null,
          row.map((cell, i) => make("td", { class: isNumber[i] ? "n" : null }, cell)),
        ),
      ),
    ),
  );
}

/// "As a table", made when it is opened for the first time: it may be long.
function tableBehind(label, makeIt) {
  const details = make("details", null, make("summary", null, label));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) {
      details.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, makeIt()));
    }
  });
  return details;
}

const noData = (...text) => make("p", { class: "empty" }, ...text);

const leafWord = data.placement.kind === "block" ? "block" : "leaf";
const leavesWord = data.placement.kind === "block" ? "blocks" : "leaves";
