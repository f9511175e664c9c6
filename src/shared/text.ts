/**
 * Text in general: lengths in characters, similar names, canonical JSON, and the rules for names and texts that people
 * write. A character is a Unicode code point, as JSON Schema counts: an emoji is one.
 */

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

/** The known name with the fewest edits, or undefined if it takes more than a typing error has. */
export const nearest = (name: string, known: readonly string[]): string | undefined => {
  const ranked = known
    .map((candidate) => ({ candidate, edits: editDistance(name, candidate) }))
    .sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best !== undefined && best.edits <= Math.max(3, Math.floor(name.length / 3)) ? best.candidate : undefined;
};

/**
 * The canonical JSON text (RFC 8785) of a value of bounded depth: equal values have equal texts. Members are ordered by
 * the UTF-16 units of their names.
 */
export const canonicalJson = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
};

/** `1 file`, `2 files`; `many` where the plural is not the word with an s. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

/** The number of characters of a well-formed text. */
export const charsOf = (text: string): number => {
  let chars = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit <= 0xdbff) chars -= 1;
  }
  return chars;
};

/** The code point of the first character, such as `U+170B`. */
export const codePointOf = (text: string): string =>
  `U+${(text.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** True if the text has more than `charsMax` characters. */
export const isLonger = (text: string, charsMax: number): boolean => text.length > charsMax && charsOf(text) > charsMax;

/** At most `charsMax` characters from the beginning of the text; never cuts a surrogate pair. */
export const firstChars = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : [...text.slice(0, 2 * charsMax)].slice(0, charsMax).join('');

/**
 * Parts of patterns: control characters with the two line separators of Unicode, and characters that turn the direction
 * of text.
 */
const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029';
const TURNING = '\\u202a-\\u202e\\u2066-\\u2069';
/**
 * Part of a pattern: blanks and characters that Unicode does not show (joiners, marks, fillers, tags). A name needs one
 * character beside these.
 */
const INVISIBLE = '\\s\\u2800\\ufff9-\\ufffb\\p{Default_Ignorable_Code_Point}';

/**
 * The pattern (flag `u`) for names of people and things. The empty name passes; minimum lengths refuse it. Matching
 * takes linear time for any text.
 */
export const NAME = `^(?:|(?=[${INVISIBLE}]*[^${INVISIBLE}])[^${CONTROLS}${TURNING}]*)$`;
/** The pattern for text of several lines. */
export const TEXT = '^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$';

const fitting = (pattern: string): ((text: string) => boolean) => {
  const compiled = new RegExp(pattern, 'u');
  return (text) => compiled.test(text);
};
/** The text without what nobody sees at its ends: blanks, line breaks and characters that Unicode does not show. */
export const trimmed = (text: string): string => {
  const seen = text.trim();
  return /^[\x21-\x7e](?:.*[\x21-\x7e])?$/s.test(seen) ? seen : seen.replace(AROUND, '');
};
const AROUND = new RegExp(`^[${INVISIBLE}]+|(?<![${INVISIBLE}])[${INVISIBLE}]+$`, 'gu');
const isName = fitting(NAME);
const turnsText = fitting(`[${TURNING}]`);

/** Why the text cannot be a name; undefined if it can. */
export const nameFault = (text: string): string | undefined => {
  if (isName(text)) return undefined;
  if (holdsControls(text)) return 'must not hold control characters or line breaks';
  if (turnsText(text))
    return 'must not hold characters that turn the direction of text (U+202A to U+202E, U+2066 to U+2069)';
  return 'must have a visible character';
};

/** True if the text has a control character or one of the two line separators of Unicode. */
/** The text in printable ASCII without quotes and backslashes: letters lose their accents, anything else is `_`. */
export const inPlainAscii = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\x20-\x7e]|["\\]/gu, '_');

export const holdsControls = (text: string): boolean => /[\p{Cc}\u2028\u2029]/u.test(text);

const BREAKS = /[\x00-\x1f\x7f\u0085\u2028\u2029]/;

/** A header is one line: breaks and other controls become blanks. */
export const headerLine = (subject: string): string =>
  (BREAKS.test(subject) ? subject.replace(/[\x00-\x1f\x7f\u0085\u2028\u2029]+/g, ' ') : subject).trim();

/** Longest texts, in lines, that are compared line by line. */
const COMPARED_LINES_MAX = 1_000;

/**
 * In: two texts as lines. Out: the lines of a difference between them (`- ` goes, `+ ` comes), at most `max`, and a line
 * that counts the others.
 */
export const changedLines = (before: readonly string[], after: readonly string[], max: number): string[] => {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end += 1;
  const [old, made] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const lines =
    old.length > COMPARED_LINES_MAX || made.length > COMPARED_LINES_MAX
      ? [...old.map((line) => `- ${line}`), ...made.map((line) => `+ ${line}`)]
      : differenceOf(old, made);
  return lines.length <= max ? lines : [...lines.slice(0, max), `… ${lines.length - max} more lines`];
};

/** By the longest common subsequence of the lines. */
const differenceOf = (old: readonly string[], made: readonly string[]): string[] => {
  const common = Array.from({ length: old.length + 1 }, () => new Uint16Array(made.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = made.length - 1; j >= 0; j -= 1)
      common[i]![j] =
        old[i] === made[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < made.length) {
    if (i < old.length && j < made.length && old[i] === made[j]) [i, j] = [i + 1, j + 1];
    else if (j >= made.length || (i < old.length && common[i + 1]![j]! >= common[i]![j + 1]!))
      lines.push(`- ${old[i++]}`);
    else lines.push(`+ ${made[j++]}`);
  }
  return lines;
};
