// Entities and words as marked spans of a sentence.

import { el, text, unseen } from "./dom.js";

const HUES = 6;

const TAG = /^(?:([BIESLUM])[-_])?(.*)$/su;

/** Entities [start, end, type] of a list of tags, in any of the schemes IO, IOB1, IOB2, IOBES and BILOU. */
export function entities(tags) {
  const found = [];
  let open = null;
  tags.forEach((tag, at) => {
    const [, prefix, type] = TAG.exec(tag);
    if (tag === "O" || tag === "") {
      open = null;
      return;
    }
    if (open?.[2] === type && !"BSU".includes(prefix ?? "I")) open[1] = at + 1;
    else found.push((open = [at, at + 1, type]));
    if ("ESLU".includes(prefix ?? "I")) open = null;
  });
  return found;
}

const keyOf = ([start, end, type]) => `${start} ${end} ${type}`;

/** Entities of several lists of tags, as a set that `entitySentence` takes. */
export function knownEntities(lists) {
  return new Set(lists.filter(Array.isArray).flatMap((tags) => entities(tags).map(keyOf)));
}

/** A sentence with its entities marked; those that are not among the known ones (if given) are marked as different. */
export function entitySentence(tokens, tags, known, isReference) {
  const words = tokens ?? tags.map((_, at) => `${at + 1}`);
  const glue = words.some((word) => /[\u3040-\u30ff\u3400-\u9fff]/.test(word)) ? "" : " ";
  const parts = tokens ? [] : [el("span", { class: "quiet" }, "tokens ")];
  let at = 0;
  for (const span of entities(tags)) {
    if (span[0] > at) parts.push(words.slice(at, span[0]).join(glue) + glue);
    parts.push(
      entity(words.slice(span[0], span[1]).join(glue), span[2], !known || known.has(keyOf(span)), isReference),
      glue,
    );
    at = span[1];
  }
  return [...parts, words.slice(at).join(glue)];
}

function entity(words, type, isShared, isReference) {
  const [mark, note] = isShared
    ? ["", null]
    : isReference
      ? ["missed", " (found by no model here)"]
      : ["extra", " (not in the reference)"];
  return el(
    "span",
    { class: `entity hue-${hueOf(type)} ${mark}` },
    words,
    el("span", { class: "type" }, type),
    note && unseen(note),
  );
}

function hueOf(type) {
  let sum = 0;
  for (const letter of type) sum = (sum * 31 + letter.codePointAt(0)) % 9973;
  return (sum % HUES) + 1;
}

/** Words of a segmented sentence in boxes; those that the other segmentation lacks are marked. */
export function wordBoxes(sentence, other) {
  const shared = other === null ? null : new Set(bounds(other).map(([word, from]) => `${from} ${word}`));
  return bounds(sentence).map(([word, from]) => {
    const isShared = shared === null || shared.has(`${from} ${word}`);
    return [
      el("span", { class: isShared ? "word" : "word differs" }, word),
      isShared ? null : unseen(" (differs)"),
      " ",
    ];
  });
}

function bounds(sentence) {
  let from = 0;
  return sentence
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => {
      const place = [word, from];
      from += word.length;
      return place;
    });
}

/** Steps of a difference as text with marks; deleted text is shown where it is missing. */
export function marked(steps) {
  return steps.map(([kind, words]) =>
    kind === "same" ? text(words) : el(kind === "insert" ? "ins" : "del", {}, words),
  );
}
