// The leaderboard: sorting, filters, ticked models, and arrow keys between values.

import { onOpen, remember } from "./route.js";
import { openDetails } from "./detail.js";
import { report } from "./data.js";
import { sortable } from "./tables.js";

const form = document.getElementById("filters");
const board = document.getElementById("board");
const heads = [...board.querySelectorAll("thead th.task")];
const firstTask = board.querySelector("tbody tr")?.querySelectorAll("th, .fact").length ?? 0;
const ticked = new Set();
let table = null;

export function startOverview() {
  if (matchMedia("(max-width: 640px)").matches) document.getElementById("filter-box").open = false;
  table = sortable(board, { titleRow: 1, columnDefs: columnKinds() });
  table.search.fixed("models", (_, __, place) => isShown(table.row(place).node()));
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  board.addEventListener("change", tick);
  openDetails(board);
  roam();
  onOpen("overview", (_, state) => restore(state));
}

function columnKinds() {
  const isUp = (column) => report.columns[column - firstTask].up;
  const first = board.querySelector("tbody tr");
  const facts = first ? [...first.querySelectorAll(".fact")] : [];
  const targets = (keep) => facts.flatMap((cell, at) => (keep(cell) ? [at + 1] : []));
  return [
    { targets: targets((cell) => cell.classList.contains("num")), orderSequence: ["desc", "asc"] },
    { targets: targets((cell) => cell.classList.contains("size")), type: "score" },
    ...heads.map((_, at) => ({
      targets: firstTask + at,
      type: "score",
      ariaTitle: `${report.columns[at].title}, ${report.columns[at].value}`,
      orderSequence: isUp(firstTask + at) ? ["desc", "asc"] : ["asc", "desc"],
    })),
  ];
}

const chosen = (name) => [...form.querySelectorAll(`[name="${name}"]:checked`)].map((box) => box.value);
const valueOf = (name) => form.elements[name]?.value ?? "";

function isShown(row) {
  const model = report.models[Number(row.dataset.m)];
  const words = valueOf("text").trim().toLowerCase();
  const families = chosen("family");
  const since = valueOf("since");
  return (
    (!words || `${model.name}\n${model.ref}`.toLowerCase().includes(words)) &&
    (!families.length || families.includes(row.dataset.family)) &&
    (!since || row.dataset.date >= since) &&
    (!form.elements.picked.checked || ticked.has(model.key))
  );
}

function filter() {
  const kinds = chosen("kind");
  const languages = chosen("language");
  let columns = 0;
  heads.forEach((head, at) => {
    const isVisible =
      (!kinds.length || kinds.includes(head.dataset.kind)) &&
      (!languages.length || languages.includes(head.dataset.language));
    columns += isVisible;
    table.column(firstTask + at).visible(isVisible, false);
  });
  board.classList.toggle("no-intervals", !form.elements.intervals.checked);
  board.classList.toggle("no-ranks", !form.elements.ranks.checked);
  table.columns.adjust().draw(false);
  describe(columns);
  remember({
    text: valueOf("text"),
    kind: kinds.join("|"),
    language: languages.join("|"),
    family: chosen("family").join("|"),
    since: valueOf("since"),
    models: form.elements.picked.checked ? [...ticked].join("|") : "",
  });
}

function describe(columns) {
  const rows = table.rows({ search: "applied" }).count();
  const all = rows === report.models.length && columns === heads.length;
  document.getElementById("board-count").textContent = all
    ? ""
    : `${rows} of ${report.models.length} models, ${columns} of ${heads.length} columns are shown.`;
}

function tick(event) {
  const place = event.target.dataset.pick;
  if (place === undefined) return;
  const { key } = report.models[Number(place)];
  if (event.target.checked) ticked.add(key);
  else ticked.delete(key);
  if (form.elements.picked.checked) filter();
}

// What an address says, once: afterwards the form is the truth and the address follows it.
function restore(state) {
  const given = (name) => (state.get(name) ?? "").split("|").filter(Boolean);
  const changed = [
    ...["kind", "language", "family"].flatMap((name) =>
      [...form.querySelectorAll(`[name="${name}"]`)].map((box) => check(box, given(name).includes(box.value))),
    ),
    ...["text", "since"].map((name) => write(form.elements[name], state.get(name))),
    pick(given("models")),
  ];
  if (changed.some(Boolean)) filter();
}

function check(box, isWanted) {
  const changes = isWanted && !box.checked;
  if (changes) box.checked = true;
  return changes;
}

function write(box, value) {
  if (!box || !value || box.value) return false;
  box.value = value;
  return true;
}

function pick(keys) {
  if (!keys.length || form.elements.picked.checked) return false;
  keys.forEach((key) => ticked.add(key));
  for (const box of board.querySelectorAll("[data-pick]")) {
    box.checked = ticked.has(report.models[Number(box.dataset.pick)].key);
  }
  form.elements.picked.checked = true;
  return true;
}

// One value is in the tab order; arrow keys move from it to its neighbours.
function roam() {
  const buttons = () => [...board.querySelectorAll("tbody button.cell")];
  buttons().forEach((button, at) => (button.tabIndex = at ? -1 : 0));
  board.addEventListener("keydown", (event) => {
    const button = event.target.closest("button.cell");
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!button || !step) return;
    const next = neighbour(button, ...step);
    if (!next) return;
    event.preventDefault();
    button.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

function neighbour(button, down, right) {
  const cell = button.closest("td");
  const [row, body] = [cell.parentElement, cell.closest("tbody")];
  const line = right ? [...row.cells] : [...body.rows].map((one) => one.cells[cell.cellIndex]);
  const before = (right || down) < 0;
  const beyond = before ? line.slice(0, line.indexOf(cell)).reverse() : line.slice(line.indexOf(cell) + 1);
  return beyond.map((one) => one?.querySelector("button.cell")).find(Boolean) ?? null;
}
