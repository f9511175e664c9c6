/** How far two names are apart: which one an author may have meant. */

/**
 * The fewest letters that must be put in, left out, replaced or changed with their neighbour to make one name of the other
 * (optimal string alignment); `max + 1` where they are more than `max`.
 */
export const editDistance = (a: string, b: string, max: number): number => {
  if (Math.abs(a.length - b.length) > max) return max + 1;
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, last[j]! + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1);
      row.push(least);
    }
    if (Math.min(...row) > max) return max + 1;
    [before, last] = [last, row];
  }
  return Math.min(last[b.length]!, max + 1);
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
    const max = Math.min(distanceMaxOf(name), distanceMaxOf(known));
    const distance = isSameButCase(name, known) ? 0 : editDistance(name, known, max);
    if (distance <= max && distance < least) [nearest, least] = [known, distance];
  }
  return nearest;
};
