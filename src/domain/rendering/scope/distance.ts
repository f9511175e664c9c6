/** How far two names are apart: which one an author may have meant. */

/**
 * The fewest letters that must be put in, left out, replaced or changed with their neighbour to make one name of the other
 * (optimal string alignment); `max + 1` where they are more than `max`. The work grows with the length and with `max`, not with the square of the length.
 */
export const editDistance = (one: string, other: string, max: number): number => {
  if (Math.abs(one.length - other.length) > max) return max + 1;
  if (one === other) return 0;
  const [a, b] = withoutCommonEnds(one, other);
  const far = max + 1;
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, at) => Math.min(at, far))];
  for (let i = 1; i <= a.length; i += 1) {
    // Further from the diagonal than `max` every distance is larger.
    const [first, end] = [Math.max(1, i - max), Math.min(b.length, i + max)];
    const row: number[] = [];
    row[first - 1] = first === 1 ? Math.min(i, far) : far;
    let smallest = row[first - 1]!;
    for (let j = first; j <= end; j += 1) {
      const replaced = (last[j - 1] ?? far) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(far, replaced, (last[j] ?? far) + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, (before[j - 2] ?? far) + 1);
      row[j] = least;
      smallest = Math.min(smallest, least);
    }
    if (smallest > max) return far;
    [before, last] = [last, row];
  }
  return Math.min(last[b.length] ?? far, far);
};

/** What two texts begin and end with alike makes no difference. */
const withoutCommonEnds = (a: string, b: string): readonly [string, string] => {
  const length = Math.min(a.length, b.length);
  let start = 0;
  while (start < length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  return [a.slice(start, a.length - end), b.slice(start, b.length - end)];
};

const DISTANCE_MAX = 2;

/** Short names are near each other by chance: of two letters none is, of three and four one that differs by one letter. */
const distanceMaxOf = (name: string): number => (name.length < 3 ? 0 : name.length < 5 ? 1 : DISTANCE_MAX);

/** Names differ in nothing but the case of their letters, which no chance brings about. */
const isSameButCase = (a: string, b: string): boolean => a !== b && a.toLowerCase() === b.toLowerCase();

/** In: a name that nothing declares. Out: the declared one that is nearest to it, if one is near enough to be meant. */
export const nearestName = (name: string, declared: Iterable<string>): string | undefined => {
  let nearest: string | undefined;
  let least = Infinity;
  for (const known of declared) {
    if (Math.abs(name.length - known.length) > DISTANCE_MAX) continue;
    const max = Math.min(distanceMaxOf(name), distanceMaxOf(known));
    const distance = isSameButCase(name, known) ? 0 : editDistance(name, known, max);
    if (distance <= max && distance < least) [nearest, least] = [known, distance];
  }
  return nearest;
};
