// Where two texts differ, word by word or character by character: Myers' greedy algorithm (1986), O((N + M) D).

const WORDS = /\s+|[\p{L}\p{N}\p{M}_]+(?:['’\-][\p{L}\p{N}\p{M}_]+)*|./gsu;
const MOST_EDITS = 800;

/** Words with the spaces and marks between them, or single characters. */
export function units(words, byCharacter) {
  return byCharacter ? Array.from(words) : (words.match(WORDS) ?? []);
}

/**
 * The steps from one text to another.
 *
 * Returns [["same" | "delete" | "insert", text], ...], neighbours of one kind joined. Texts that differ in more than
 * MOST_EDITS places are taken to differ wholly between their common ends.
 */
export function difference(from, to, byCharacter) {
  const [a, b] = [units(from, byCharacter), units(to, byCharacter)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const middle = edits(left, right) ?? [
    ...left.map((unit) => ["delete", unit]),
    ...right.map((unit) => ["insert", unit]),
  ];
  return joined([
    ...a.slice(0, start).map((unit) => ["same", unit]),
    ...middle,
    ...a.slice(a.length - end).map((unit) => ["same", unit]),
  ]);
}

/** How many units are deleted or inserted. */
export function distance(steps) {
  return steps.reduce((sum, [kind, words]) => sum + (kind === "same" ? 0 : words.length), 0);
}

// The furthest place on each diagonal k = x - y, which may be negative: diagonal k lies at index k + middle.
function edits(a, b) {
  const limit = Math.min(a.length + b.length, MOST_EDITS);
  const middle = limit + 1;
  const reach = new Int32Array(2 * middle + 1);
  const trace = [];
  for (let d = 0; d <= limit; d += 1) {
    trace.push(reach.slice(middle - d - 1, middle + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const x = slide(a, b, isInsertion(reach, middle, d, k) ? reach[middle + k + 1] : reach[middle + k - 1] + 1, k);
      reach[middle + k] = x;
      if (x >= a.length && x - k >= b.length) return backtrack(a, b, trace, d);
    }
  }
  return null;
}

/** Whether the best way to diagonal k in d steps comes from the one above it. */
function isInsertion(reach, middle, d, k) {
  return k === -d || (k !== d && reach[middle + k - 1] < reach[middle + k + 1]);
}

/** How far equal units go on from x on diagonal k. */
function slide(a, b, x, k) {
  let end = x;
  while (end < a.length && end - k < b.length && a[end] === b[end - k]) end += 1;
  return end;
}

function backtrack(a, b, trace, last) {
  const steps = [];
  let [x, y] = [a.length, b.length];
  for (let d = last; d > 0; d -= 1) {
    const [reach, middle] = [trace[d], d + 1];
    const k = x - y;
    const isInsert = isInsertion(reach, middle, d, k);
    const before = isInsert ? k + 1 : k - 1;
    const fromX = reach[middle + before];
    const startX = isInsert ? fromX : fromX + 1;
    for (; x > startX; x -= 1) steps.push(["same", a[x - 1]]);
    steps.push(isInsert ? ["insert", b[fromX - before]] : ["delete", a[fromX]]);
    [x, y] = [fromX, fromX - before];
  }
  for (; x > 0; x -= 1) steps.push(["same", a[x - 1]]);
  return steps.reverse();
}

function joined(steps) {
  const parts = [];
  for (const [kind, words] of steps) {
    const last = parts.at(-1);
    if (last?.[0] === kind) last[1] += words;
    else parts.push([kind, words]);
  }
  return parts;
}
