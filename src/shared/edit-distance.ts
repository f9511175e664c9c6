/** Levenshtein distance: how many letters must be put in, left out or replaced to make one word of the other. */
export const editDistance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
};

/** The name with the fewest edits, where they are few enough to be a slip. */
export const nearest = (name: string, known: readonly string[]): string | undefined => {
  const ranked = known.map((candidate) => ({ candidate, edits: editDistance(name, candidate) })).sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best !== undefined && best.edits <= Math.max(3, Math.floor(name.length / 3)) ? best.candidate : undefined;
};
