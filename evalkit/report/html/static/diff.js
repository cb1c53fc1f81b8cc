// Where two texts differ, word by word or character by character: Myers' greedy algorithm (1986), O((N + M) D).

const WORDS = /\s+|[\p{L}\p{N}\p{M}_]+(?:['’\-][\p{L}\p{N}\p{M}_]+)*|./gsu;
const MOST_EDITS = 1500;

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

function edits(a, b) {
  const limit = Math.min(a.length + b.length, MOST_EDITS);
  const trace = [];
  let reach = new Map([[1, 0]]);
  for (let d = 0; d <= limit; d += 1) {
    trace.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      const isDown = k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
      let x = isDown ? reach.get(k + 1) : reach.get(k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) return backtrack(a, b, trace, d);
    }
  }
  return null;
}

function backtrack(a, b, trace, last) {
  const steps = [];
  let [x, y] = [a.length, b.length];
  for (let d = last; d >= 0; d -= 1) {
    const reach = trace[d];
    const k = x - y;
    const isDown = k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const before = isDown ? k + 1 : k - 1;
    const [fromX, fromY] = d ? [reach.get(before), reach.get(before) - before] : [0, 0];
    while (x > fromX && y > fromY) {
      x -= 1;
      y -= 1;
      steps.push(["same", a[x]]);
    }
    if (d && isDown) steps.push(["insert", b[(y -= 1)]]);
    else if (d) steps.push(["delete", a[(x -= 1)]]);
  }
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
