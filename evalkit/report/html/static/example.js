// One example: what was asked, what was expected, what each model said.

import { el, named, text, unseen } from "./dom.js";
import { languageOf, modelName, shown } from "./data.js";
import { address, state } from "./route.js";
import { difference, distance } from "./diff.js";
import { entitySentence, knownEntities, marked, wordBoxes } from "./spans.js";

const LONG = 360;

// Values of one example that are either all or nothing.
const SAID_BY_VERDICT = ["accuracy", "exact_match"];

/** The cell that names an example: its id, its document, the score of each model. */
export function headCell(data, at, which) {
  const id = data.examples.ids[at];
  const link = address({ ...Object.fromEntries(state()), example: id, part: "samples" });
  const [, , display] = data.page.samples.scores[which] ?? [];
  return el(
    "div",
    { class: "example-head" },
    el("a", { href: link, class: "mono" }, el("bdi", {}, id)),
    data.examples.clusters?.[at] ? el("span", { class: "quiet" }, el("bdi", {}, data.examples.clusters[at])) : null,
    display && data.sides.length > 1 && data.lead(0, 1, which, at)
      ? el(
          "span",
          { class: "quiet" },
          `A − B ${shown(data.score(0, which, at) - data.score(1, which, at), display, true)}`,
        )
      : null,
  );
}

/** The cell of inputs and references. */
export function askedCell(data, at) {
  const { page } = data;
  const parts = data
    .inputsOf(at)
    .filter(([name]) => page.kind !== "ner" && page.kind !== "cws" && name !== "tokens")
    .map(([name, value]) => passage(name, String(value), languageOf(String(value), page.language)));
  return el("div", {}, parts, references(data, at));
}

function passage(name, words, language) {
  const body = el("p", { lang: language, dir: "auto", class: "said" }, words);
  if (words.length <= LONG) return [el("p", { class: "name-of" }, name), body];
  const start = el("span", { lang: language, class: "quiet start" }, `${Array.from(words).slice(0, 90).join("")}…`);
  return el("details", {}, el("summary", {}, el("span", { class: "name-of" }, name), " ", start), body);
}

function references({ page, examples, sides }, at) {
  const all = examples.references[at];
  if (page.kind === "ner")
    return sentence(
      entitySentence(tokensOf(examples, at), all[0] ?? [], knownEntities(sides.map((side) => side.out[at])), true),
      page,
    );
  if (page.kind === "cws") return sentence(wordBoxes(all[0] ?? "", null), page);
  if (!all.length)
    return [
      el("p", { class: "name-of" }, "reference"),
      el("p", { class: "quiet" }, page.kind === "qa" ? "no answer" : "none"),
    ];
  const different = [...new Set(all)];
  const only = page.kind === "lm" ? "text" : "reference";
  const label = all.length > 1 ? referencesWords(all.length, different.length) : only;
  return page.kind === "lm"
    ? passage(label, all[0], page.language)
    : [
        el("p", { class: "name-of" }, label),
        different.map((words) => el("p", { lang: page.language, dir: "auto", class: "said" }, words)),
      ];
}

function referencesWords(all, different) {
  return different < all ? `${all} references, ${different} different` : `${all} references`;
}

const sentence = (parts, page) => el("p", { lang: page.language, class: "said spans" }, parts);
const tokensOf = (examples, at) => examples.inputs?.[at]?.tokens ?? null;

/** The cell of one model. */
export function outputCell(data, side, at, choice) {
  if (!data.isAsked(side, at)) return el("p", { class: "quiet" }, "not asked");
  return el(
    "div",
    {},
    scoreLine(data, side, at),
    data.flags(side, at).map((words) => el("p", { class: "warn" }, words)),
    output(data, side, at, choice),
  );
}

function scoreLine(data, side, at) {
  const { scores } = data.page.samples;
  const verdict = { 1: ["right", "✓"], 0: ["wrong", "✗"] }[data.verdict(side, at)];
  const words = scores
    .map((row, which) => [row[1], data.score(side, which, at), row[2], scoreName(row, scores)])
    .filter(([value, score]) => score !== null && !(verdict && SAID_BY_VERDICT.includes(value)));
  return el(
    "p",
    { class: "scores" },
    verdict
      ? el("span", { class: verdict[0] }, el("span", { "aria-hidden": "true" }, verdict[1]), unseen(verdict[0]), " ")
      : null,
    words.map(([, score, display, name]) =>
      el("span", { class: "score" }, el("span", { class: "quiet" }, name), ` ${shown(score, display)}`),
    ),
  );
}

/** The name of a value, with its metric where two metrics have a value of that name. */
function scoreName([metric, value], scores) {
  return scores.filter(([, other]) => other === value).length > 1 ? `${metric} ${value}` : value;
}

function output(data, side, at, choice) {
  const { page, examples } = data;
  const said = data.sides[side].out[at];
  if (page.kind === "lm") return null;
  if (said === null || said === undefined) return el("p", { class: "quiet" }, "no output");
  if (page.kind === "ner")
    return sentence(entitySentence(tokensOf(examples, at), said, knownEntities(examples.references[at]), false), page);
  if (page.kind === "cws") return sentence(wordBoxes(String(said), String(examples.references[at][0] ?? "")), page);
  if (said === "") return el("p", { class: "quiet" }, page.kind === "qa" ? "no answer" : "empty output");
  const words = String(said);
  return el(
    "p",
    { lang: languageOf(words, page.language), dir: "auto", class: "said" },
    compared(words, page.kind === "classification" ? [] : bases(data, side, at, choice), choice.byCharacter),
  );
}

/** The texts that an output is compared with: the references, another model's output, or nothing. */
function bases(data, side, at, choice) {
  if (choice.against === "reference") return data.examples.references[at].filter((one) => typeof one === "string");
  if (choice.against !== "first" || side === 0) return [];
  const first = data.sides[0].out[at];
  return typeof first === "string" ? [first] : [];
}

function compared(words, others, byCharacter) {
  if (!others.length) return text(words);
  const steps = others.map((other) => difference(other, words, byCharacter));
  return marked(steps.reduce((nearest, one) => (distance(one) < distance(nearest) ? one : nearest)));
}

/** The head of a model's column. */
export function outputHead(side, model) {
  return [el("span", { class: "letter", "aria-hidden": "true" }, "ABCD"[side]), " ", named(modelName(model))];
}
