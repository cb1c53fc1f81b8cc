// Which examples are shown, and in which order.

import { modelName } from "./data.js";

/** Examples of a page with the outputs of some models: `at` is a place in all lists. */
export class Examples {
  constructor(page, examples, sides) {
    this.page = page;
    this.examples = examples;
    // An answer to a question comes with the probability that there is none.
    this.sides = sides.map((side) => ({
      ...side,
      out: side.out.map((said) => said?.text ?? (Array.isArray(said) || typeof said !== "object" ? said : null)),
    }));
    this.words = null;
  }

  /** What was asked, by the name of the input. */
  inputsOf(at) {
    const inputs = this.examples.inputs?.[at] ?? {};
    return Object.entries(inputs).map(([name, value]) => [
      name,
      Number.isInteger(value?.at) ? this.examples.pool[value.at] : value,
    ]);
  }

  score(side, which, at) {
    return this.sides[side].scores[which]?.[at] ?? null;
  }

  verdict(side, at) {
    return this.sides[side].right[at] ?? " ";
  }

  flags(side, at) {
    return this.sides[side].flags[at] ?? [];
  }

  /** Whether a model was asked this example at all. */
  isAsked(side, at) {
    return this.verdict(side, at) !== " ";
  }

  /** Score of one side over that of another, positive where the first is better; null where one is unknown. */
  lead(first, second, which, at) {
    const [a, b] = [this.score(first, which, at), this.score(second, which, at)];
    if (a === null || b === null) return null;
    const isUp = this.page.samples.scores[which][3];
    return isUp ? a - b : b - a;
  }

  /** All text of an example, in lower case, for the search. */
  wordsOf(at) {
    this.words ??= [];
    this.words[at] ??= [
      this.examples.ids[at],
      this.inputsOf(at).map(([, value]) => value),
      this.examples.references[at],
      this.sides.map((side) => side.out[at]),
    ]
      .map(flat)
      .join("\n")
      .toLowerCase();
    return this.words[at];
  }

  /** Places of the examples that a choice asks for, in its order. */
  select(choice) {
    const places = [];
    for (let at = 0; at < this.examples.ids.length; at += 1) if (this.isWanted(at, choice)) places.push(at);
    const order = SORTS.find(({ key }) => key === choice.sort)?.value;
    if (!order) return places;
    const values = new Map(places.map((at) => [at, order(this, at, choice.which)]));
    return places.sort((a, b) => descending(values.get(a), values.get(b)) || a - b);
  }

  isWanted(at, { only, which, query, example }) {
    if (example && this.examples.ids[at] !== example) return false;
    const keep = FILTERS.find(({ key }) => key === only)?.keep;
    if (keep && !keep(this, at, which)) return false;
    const words = query.trim().toLowerCase();
    return !words || this.wordsOf(at).includes(words);
  }
}

function descending(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return b - a;
}

function flat(value) {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(flat).join(" ");
  return typeof value === "object" ? Object.values(value).map(flat).join(" ") : String(value);
}

const isRight = (data, side, at) => data.verdict(side, at) === "1";
const isWrong = (data, side, at) => data.verdict(side, at) === "0";

/** Filters: what they are called for models A and B, what they need, and what they keep. */
export const FILTERS = [
  { key: "", label: () => "all examples", keep: () => true },
  {
    key: "a-right",
    judged: true,
    pair: true,
    label: (a, b) => `${a} right, ${b} wrong`,
    keep: (data, at) => isRight(data, 0, at) && isWrong(data, 1, at),
  },
  {
    key: "b-right",
    judged: true,
    pair: true,
    label: (a, b) => `${b} right, ${a} wrong`,
    keep: (data, at) => isRight(data, 1, at) && isWrong(data, 0, at),
  },
  {
    key: "wrong",
    judged: true,
    label: () => "all wrong",
    keep: (data, at) => data.sides.every((_, side) => isWrong(data, side, at)),
  },
  {
    key: "right",
    judged: true,
    label: () => "all right",
    keep: (data, at) => data.sides.every((_, side) => isRight(data, side, at)),
  },
  {
    key: "a-better",
    pair: true,
    label: (a, b) => `${a} scores better than ${b}`,
    keep: (data, at, which) => data.lead(0, 1, which, at) > 0,
  },
  {
    key: "b-better",
    pair: true,
    label: (a, b) => `${b} scores better than ${a}`,
    keep: (data, at, which) => data.lead(1, 0, which, at) > 0,
  },
  {
    key: "differ",
    pair: true,
    label: () => "outputs differ",
    keep: (data, at) => new Set(data.sides.map((side) => flat(side.out[at]))).size > 1,
  },
  {
    key: "flagged",
    label: () => "failed or cut",
    keep: (data, at) => data.sides.some((_, side) => data.flags(side, at).length),
  },
];

/** Orders: what they are called for models A and B, and the value that is sorted from high to low. */
export const SORTS = [
  { key: "", label: () => "order of the data", value: null },
  {
    key: "difference",
    pair: true,
    label: () => "largest difference",
    value: (data, at, which) => spread(data, at, which),
  },
  {
    key: "a-lead",
    pair: true,
    label: (a) => `${a} furthest ahead`,
    value: (data, at, which) => data.lead(0, 1, which, at),
  },
  {
    key: "b-lead",
    pair: true,
    label: (_, b) => `${b} furthest ahead`,
    value: (data, at, which) => data.lead(1, 0, which, at),
  },
  { key: "worst", label: (a) => `worst of ${a} first`, value: (data, at, which) => signed(data, at, which, -1) },
  { key: "best", label: (a) => `best of ${a} first`, value: (data, at, which) => signed(data, at, which, 1) },
];

function spread(data, at, which) {
  const known = data.sides.map((_, side) => data.score(side, which, at)).filter((score) => score !== null);
  return known.length < 2 ? null : Math.max(...known) - Math.min(...known);
}

function signed(data, at, which, sign) {
  const score = data.score(0, which, at);
  return score === null ? null : score * sign * (data.page.samples.scores[which][3] ? 1 : -1);
}

/** Options of a select for the models that are shown. */
export function optionsOf(list, models, isJudged) {
  const [a, b] = models.map(modelName);
  return list
    .filter((one) => (!one.pair || models.length > 1) && (!one.judged || isJudged))
    .map((one) => [one.key, one.label(a, b)]);
}
