// A value on parts of the test set, and what went right and wrong.

import { el, named, region, unseen } from "./dom.js";
import { columnOf, count, interval, modelName, shown } from "./data.js";
import { sortable } from "./tables.js";

/** The tables of slices of a task page. */
export function slices(page) {
  return page.slices.map((part) => [
    el("h3", {}, `${part.value} by ${part.by}`, part.unit ? el("span", { class: "quiet" }, ` in ${part.unit}`) : null),
    part.notes.map(([, words]) => el("p", { class: "quiet" }, words)),
    sliceTable(page, part),
  ]);
}

function sliceTable(page, part) {
  const { up } = columnOf(part.column);
  const rows = page.models
    .map((model, at) => [model, part.groups.map((group) => group.values[at])])
    .filter(([, values]) => values.some(Boolean));
  const head = part.groups.map((group) =>
    el(
      "th",
      { scope: "col", class: "num" },
      el("span", { class: "title" }, group.name),
      " ",
      el("span", { class: "count" }, counted(group.n, part.counts)),
    ),
  );
  const tints = part.groups.map((_, at) =>
    tintOf(
      rows.map(([, values]) => values[at]?.[0]),
      up,
    ),
  );
  const table = el(
    "table",
    { class: "values heat" },
    el("caption", { class: "unseen" }, `${part.value} of every model by ${part.by}`),
    el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "name" }, "Model"), head)),
    el(
      "tbody",
      {},
      rows.map(([model, values]) =>
        el(
          "tr",
          {},
          el("th", { scope: "row", class: "name" }, named(modelName(model))),
          values.map((scored, at) => sliceCell(scored, part.display, tints[at])),
        ),
      ),
    ),
  );
  sortable(table, {
    columnDefs: part.groups.map((_, at) => ({
      targets: at + 1,
      type: "score",
      orderSequence: up ? ["desc", "asc"] : ["asc", "desc"],
    })),
  });
  return region(`${part.value} by ${part.by}`, table);
}

/** A number with what is counted; all of it is counted in plural words. */
const counted = (n, words) => `${count(n)} ${n === 1 ? words.replace(/ies$/, "y").replace(/s$/, "") : words}`;

/** How strongly a value is tinted: from the worst of its column to the best. */
function tintOf(values, isUp) {
  const known = values.filter((value) => value !== null && value !== undefined);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return (value) => (high > low ? (isUp ? value - low : high - value) / (high - low) : 0);
}

function sliceCell(scored, display, tint) {
  if (!scored || scored[0] === null) return el("td", { class: "num none", "data-order": "" }, "–");
  const [value, low, high] = scored;
  return el(
    "td",
    { class: "num", "data-order": value, style: { "--tint": `${Math.round(22 * tint(value))}%` } },
    el("span", { class: "value" }, shown(value, display)),
    " ",
    el("span", { class: "interval" }, interval(low, high, display)),
  );
}

/** The tables of outcomes of a task page. */
export function breakdowns(page) {
  return page.breakdowns.map((part) => [
    el("h3", {}, part.title, countsWords(part)),
    part.notes.map(([, words]) => el("p", { class: "quiet" }, words)),
    breakdownTable(page, part),
  ]);
}

/** What is counted, where the title does not say it. */
function countsWords({ title, unit }) {
  return title.toLowerCase().includes(unit.toLowerCase()) ? null : el("span", { class: "quiet" }, ` in ${unit}`);
}

function breakdownTable(page, part) {
  const groups = [...new Set(part.rows.map(([group]) => group))];
  const spans = groups.map((group) => part.rows.filter(([name]) => name === group).length);
  const hasGroups = groups.some(Boolean);
  const starts = part.rows.map(([group], at) => at === 0 || part.rows[at - 1][0] !== group);
  const models = page.models
    .map((model, at) => [model, at])
    .filter(([, at]) => part.rows.some(([, , counts]) => counts[at] !== null));
  const table = el(
    "table",
    { class: "values outcomes" },
    el("caption", { class: "unseen" }, `${part.title} of every model`),
    el(
      "thead",
      {},
      hasGroups
        ? el(
            "tr",
            { "data-dt-order": "disable" },
            el("td", {}),
            groups.map((group, at) => el("th", { scope: "colgroup", colspan: spans[at], class: "group first" }, group)),
          )
        : null,
      el(
        "tr",
        {},
        el("th", { scope: "col", class: "name" }, "Model"),
        part.rows.map(([, outcome], at) =>
          el("th", { scope: "col", class: `num ${hasGroups && starts[at] ? "first" : ""}` }, outcome),
        ),
      ),
    ),
    el(
      "tbody",
      {},
      models.map(([model, at]) =>
        el(
          "tr",
          {},
          el("th", { scope: "row", class: "name" }, named(modelName(model))),
          part.rows.map((row, place) => outcomeCell(row, at, groupSizes(part, at), hasGroups && starts[place])),
        ),
      ),
    ),
  );
  sortable(table, {
    titleRow: hasGroups ? 1 : 0,
    columnDefs: part.rows.map((_, at) => ({ targets: at + 1, type: "score", orderSequence: ["desc", "asc"] })),
  });
  return region(part.title, table);
}

/** Sizes of the groups for one model; null where counts overlap, so that their sum says nothing. */
function groupSizes(part, at) {
  const sizes = new Map();
  for (const [group, , counts] of part.rows) sizes.set(group, (sizes.get(group) ?? 0) + (counts[at] ?? 0));
  return part.notes.length ? null : sizes;
}

function outcomeCell([group, , counts], at, sizes, isFirst) {
  const value = counts[at];
  const place = isFirst ? "num first" : "num";
  if (value === null) return el("td", { class: `${place} none`, "data-order": "" }, "–");
  const total = sizes?.get(group);
  const share = total ? `${Math.round((100 * value) / total)}%` : null;
  return el(
    "td",
    { class: place, "data-order": value },
    el("span", { class: "value" }, count(value)),
    share && [" ", el("span", { class: "interval", style: { "--share": share } }, share, unseen(" of its group"))],
  );
}
