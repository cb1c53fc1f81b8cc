// Models against one another: a matrix of differences, tinted where they are significant.

import { el, fill, named, region, select, unseen } from "./dom.js";
import { columnOf, interval, modelName, pValue, report, shown } from "./data.js";

const alpha = () => 1 - report.confidence;

/** The section of differences of a task page; null where there is nothing to compare. */
export function differences(page) {
  const tables = page.pairwise.filter((table) => table.pairs.length);
  if (!tables.length) return null;
  const place = el("div");
  const draw = (at) => fill(place, matrix(tables[Number(at)]));
  draw(0);
  const options = tables.map((table, at) => [String(at), columnOf(table.column).value]);
  return [options.length > 1 ? el("div", { class: "filters" }, select("Value", options, "0", draw)) : null, place];
}

function matrix(table) {
  const column = columnOf(table.column);
  const found = new Map();
  for (const [first, second, difference, low, high, p, holm] of table.pairs) {
    found.set(`${second},${first}`, { difference, low, high, p, holm });
    found.set(`${first},${second}`, {
      difference: negative(difference),
      low: negative(high),
      high: negative(low),
      p,
      holm,
    });
  }
  const isWhole = found.size === table.models.length * (table.models.length - 1);
  const columns = isWhole
    ? table.models
    : table.models.filter((model) => table.pairs.some(([first]) => first === model));
  const body = table.models.map((model, at) =>
    el(
      "tr",
      {},
      el(
        "th",
        { scope: "row", class: "name" },
        el("span", { class: "number", "aria-hidden": "true" }, at + 1),
        " ",
        named(modelName(model)),
      ),
      columns.map((other) => pairCell(model, other, found.get(`${model},${other}`), column)),
    ),
  );
  const head = columns.map((model) =>
    el(
      "th",
      { scope: "col", class: "num", title: modelName(model) },
      el("span", { "aria-hidden": "true" }, table.models.indexOf(model) + 1),
      unseen(modelName(model)),
    ),
  );
  return [
    el("p", { class: "quiet" }, legend(column, isWhole)),
    region(
      `Differences: ${column.value}`,
      el(
        "table",
        { class: "matrix" },
        el(
          "caption",
          { class: "unseen" },
          `Difference of ${column.value}: model of the row minus model of the column, with adjusted p`,
        ),
        el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "name" }, "Row minus column"), head)),
        el("tbody", {}, body),
      ),
    ),
  ];
}

function legend(column, isWhole) {
  const better = column.up ? "positive: the row is better" : "negative: the row is better";
  const test = column.test ? `${column.test}; ` : "";
  const scope = isWhole ? "" : " Only pairs with the best model were tested.";
  const tint = `tinted where p < ${+alpha().toFixed(4)}.`;
  return `Difference of ${column.value} (${better}) with p after Holm's correction; ${test}${tint}${scope}`;
}

const negative = (value) => (value === null ? null : -value);

function pairCell(model, other, pair, column) {
  if (model === other) return el("td", { class: "same" }, unseen("the same model"));
  if (!pair || pair.difference === null) return el("td", { class: "num none" }, "–");
  const isSignificant = pair.holm !== null && pair.holm < alpha();
  const isBetter = pair.difference > 0 === column.up;
  const tint = isSignificant && pair.difference !== 0 ? (isBetter ? "better" : "worse") : "";
  const words = interval(pair.low, pair.high, column.display, true);
  return el(
    "td",
    {
      class: `num ${tint}`,
      title: `${modelName(model)} − ${modelName(other)}: p = ${pValue(pair.p)}, adjusted ${pValue(pair.holm)}`,
    },
    el("span", { class: "value" }, shown(pair.difference, column.display, true)),
    " ",
    el("span", { class: "interval" }, words),
    " ",
    el("span", { class: "p" }, "p ", pValue(pair.holm)),
  );
}
