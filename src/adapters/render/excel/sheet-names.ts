/** Names that Excel takes for sheets. */

const CHARS_MAX = 31;

/** In: the names as the template has them, in order. Out: names of at most 31 characters, without `[]:*?/\`, no two alike (letter case apart). */
export const sheetNames = (wanted: readonly string[]): readonly string[] => {
  const taken = new Set<string>();
  return wanted.map((name, at) => {
    const base = validName(name) ?? `Sheet ${at + 1}`;
    let unique = base;
    for (let copy = 2; taken.has(unique.toLowerCase()); copy++) unique = shortened(base, ` (${copy})`);
    taken.add(unique.toLowerCase());
    return unique;
  });
};

const validName = (name: string): string | undefined => {
  const clean = shortened(
    name
      .replace(/[[\]:*?/\\\p{Cc}\p{Surrogate}\ufffe\uffff]+/gu, ' ')
      .replace(/\s+/g, ' ')
      .trim()
      .replace(/^'+|'+$/g, ''),
    '',
  ).replace(/'+$/, '');
  // Excel keeps "History" for itself.
  return clean === '' ? undefined : /^history$/i.test(clean) ? `${clean} 1` : clean;
};

/** Cut so that no character is split. */
const shortened = (name: string, suffix: string): string => {
  let cut = '';
  for (const character of name) {
    if (cut.length + character.length + suffix.length > CHARS_MAX) break;
    cut += character;
  }
  return cut.trimEnd() + suffix;
};
