// What stands behind one value: its interval, rank and notes, and the runs that made it.

import { command, el, facts, fill, warnings } from "./dom.js";
import { cellAt, count, interval, modelName, pValue, rankRange, report, runOf, shown } from "./data.js";

const panel = document.getElementById("detail");
let opener = null;

/** Let every value of an element open its details. */
export function openDetails(element) {
  element.addEventListener("click", (event) => {
    const button = event.target.closest("button.cell");
    if (button) show(button, Number(button.dataset.m), Number(button.dataset.c));
  });
}

function show(button, model, column) {
  const about = report.columns[column];
  const cell = cellAt(model, column);
  const close = el(
    "button",
    { type: "button", class: "plain close", on: { click: () => panel.hidePopover() } },
    "Close",
  );
  fill(
    panel,
    close,
    el("h2", { id: "detail-title" }, modelName(model), " · ", about.title),
    facts(valueFacts(cell, about)),
    warnings(cell.notes?.map(([, words]) => words)),
    (cell.runs ?? []).map((id) => runDetails(runOf(id))),
    cell.others?.length ? el("p", { class: "quiet" }, `Not shown: ${cell.others.join(", ")}`) : null,
  );
  opener = button;
  panel.showPopover();
  place(button);
  close.focus({ preventScroll: true });
}

panel.addEventListener("toggle", (event) => {
  if (event.newState === "closed") opener?.focus({ preventScroll: true });
});

function valueFacts(cell, about) {
  const level = cell.level ? `${+(100 * cell.level).toFixed(4)}% interval` : "Interval";
  const unit = about.display[1] ? ` ${about.display[1]}` : "";
  return [
    [about.value, `${shown(cell.v, about.display)}${unit}`],
    [level, cell.ci ? interval(...cell.ci, about.display) : ""],
    ["Deviation", cell.sd === undefined ? "" : `${shown(cell.sd, about.display)} between ${cell.runs.length} runs`],
    ["Rank", cell.rank ? rankWords(cell) : ""],
    ["Against the best", againstBest(cell)],
    ["Examples", exampleWords(cell)],
    ["Signature", about.signature],
  ];
}

function againstBest(cell) {
  if (cell.best || cell.p === undefined) return "";
  return `p = ${pValue(cell.p)}${cell.tied ? ", not significantly worse" : ""}`;
}

function exampleWords(cell) {
  if (!cell.n) return "";
  return cell.unscored ? `${count(cell.n)}, ${count(cell.unscored)} more not scored` : count(cell.n);
}

function rankWords(cell) {
  const range = rankRange(cell.rank);
  return String(cell.rank[0]) === range ? range : `${cell.rank[0]}, between ${range.replace("–", " and ")}`;
}

/** A run with everything that is needed to make it again. */
export function runDetails(run, withCommand = true) {
  if (!run) return null;
  const pairs = (at) => report.pool[at].filter(([, words]) => words).map((pair) => pair.join(" "));
  const rows = [
    ["Run", run.id],
    ["Started", run.created.replace("T", " ").replace("+00:00", " UTC")],
    ["Digests", `task ${run.task}, data ${run.data}, model ${run.model}`],
    ["Code", run.commit ?? ""],
    ["Versions", pairs(run.versions).join(", ")],
    ["Settings", pairs(run.settings).join(", ")],
    ["Folder", run.place],
  ];
  const again = withCommand ? command(run.command) : null;
  return el("section", { class: "run" }, again, warnings(run.warnings), facts(rows));
}

// Below the value where there is room, else on the side with more of it.
function place(button) {
  if (matchMedia("(max-width: 640px)").matches) return;
  const from = button.getBoundingClientRect();
  const [above, below] = [from.top - 14, innerHeight - from.bottom - 14];
  panel.style.maxHeight = `${Math.max(above, below)}px`;
  const size = panel.getBoundingClientRect();
  const isBelow = size.height <= below || below >= above;
  panel.style.left = `${Math.max(8, Math.min(from.right - size.width, innerWidth - size.width - 8))}px`;
  panel.style.top = `${isBelow ? from.bottom + 6 : from.top - size.height - 6}px`;
}
