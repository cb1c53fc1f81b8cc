// Every run that was read: what it is, whether it is shown, and the command that makes it again.

import { command, el, facts, fill, named, region, select, warnings } from "./dom.js";
import { count, modelName, pageOf, report } from "./data.js";
import { remember } from "./route.js";
import { runDetails } from "./detail.js";
import { release, sortable } from "./tables.js";

let table = null;

/** Show the runs of the model or task that the address names, or all of them. */
export function openRuns(element, state) {
  release(table);
  const model = report.models.findIndex((one) => one.key === state.get("model"));
  const task = state.get("task") ?? "";
  const shown = report.runs.filter((run) => (model < 0 || run.m === model) && (!task || run.page === task));
  const body = runTable(shown);
  fill(
    element,
    el("h1", {}, "Runs"),
    el(
      "p",
      { class: "quiet" },
      `${count(shown.length)} of ${count(report.runs.length)} runs. A run opens its versions, settings and digests.`,
    ),
    el(
      "div",
      { class: "filters" },
      select(
        "Model",
        [["", "all"], ...report.models.map((one) => [one.key, one.name])],
        state.get("model") ?? "",
        (value) => change({ model: value }),
      ),
      select("Task", [["", "all"], ...report.pages.map((page) => [page.key, page.title])], task, (value) =>
        change({ task: value }),
      ),
    ),
    model < 0 ? null : modelFacts(report.models[model]),
    region("Table of runs", body),
  );
  table = sortable(body, { columnDefs: [{ targets: [4, 6], orderable: false }] });
}

function change(values) {
  remember(values);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

function modelFacts(model) {
  return facts([
    ["Reference", model.ref],
    ["Family", model.family],
    ["Parameters", model.parameters === null ? "" : count(model.parameters)],
    ["Tokens seen", model.tokens === null ? "" : count(model.tokens)],
    ["Digests", model.digests.join(", ")],
  ]);
}

/** A table of runs. */
export function runTable(runs) {
  return el(
    "table",
    { class: "runs" },
    el("caption", { class: "unseen" }, "Runs"),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ["Run", "Model", "Task", "Use", "Counts", "Started", "Command"].map((name) => el("th", { scope: "col" }, name)),
      ),
    ),
    el("tbody", {}, runs.map(runRow)),
  );
}

/** The button that opens what is known of a run, in a row of its own below. */
function opener(run) {
  const button = el("button", { type: "button", class: "opener mono", "aria-expanded": "false" }, run.id);
  button.addEventListener("click", () => {
    const line = button.closest("tr");
    const row = line.closest("table").sortedBy.row(line);
    const opens = !row.child.isShown();
    if (opens) row.child(runDetails(run, false), "opened").show();
    else row.child.remove();
    button.setAttribute("aria-expanded", String(opens));
  });
  return button;
}

function runNotes(run) {
  if (run.status !== "complete") return warnings([run.status]);
  const lines = (run.warnings ?? []).length;
  return lines ? el("p", { class: "quiet" }, `${lines} ${lines === 1 ? "warning" : "warnings"}`) : null;
}

function runRow(run) {
  const counts = Object.entries(run.counts ?? {}).filter(([, number]) => number);
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, opener(run)),
    el("td", {}, named(modelName(run.m))),
    el(
      "td",
      {},
      el("a", { href: `#view=task&task=${encodeURIComponent(run.page)}` }, pageOf(run.page)?.title ?? run.page),
    ),
    el("td", {}, run.use, runNotes(run)),
    el("td", { class: "quiet" }, counts.map(([name, number]) => `${count(number)} ${name}`).join(", ")),
    el("td", { class: "quiet", "data-order": run.created }, run.created.slice(0, 16).replace("T", " ")),
    el("td", {}, command(run.command)),
  );
}
