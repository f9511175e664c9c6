/** Direction of texts and documents, and which sides `start` and `end` mean in it. */

export const directions = ['ltr', 'rtl'] as const;
export type Direction = (typeof directions)[number];
/** `auto`: as the first letter of the text itself runs. */
export const textDirections = ['ltr', 'rtl', 'auto'] as const;
export type TextDirection = (typeof textDirections)[number];

export type Side = 'left' | 'center' | 'right' | 'justify';

const RIGHT_TO_LEFT_SCRIPTS: ReadonlySet<string | undefined> = new Set([
  'Arab',
  'Hebr',
  'Thaa',
  'Syrc',
  'Nkoo',
  'Adlm',
  'Mand',
  'Samr',
  'Rohg',
]);

/**
 * In: a BCP 47 locale that was checked. Out: how texts in its script run; `ar-Latn` runs from the left, `az-Arab` from
 * the right.
 */
export const directionOfLocale = (locale: string): Direction =>
  RIGHT_TO_LEFT_SCRIPTS.has(new Intl.Locale(locale).maximize().script) ? 'rtl' : 'ltr';

const FIRST_STRONG = /[\p{L}\u200e\u200f\u061c]/u;
const RIGHT_TO_LEFT_LETTER =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Thaana}\p{Script=Syriac}\p{Script=Nko}\p{Script=Adlam}\p{Script=Mandaic}\p{Script=Samaritan}\u200f\u061c]/u;

/** The direction of the first letter of a text; undefined where it has none (rule P2 of UAX #9). */
export const directionOfText = (text: string): Direction | undefined => {
  const first = FIRST_STRONG.exec(text)?.[0];
  return first === undefined ? undefined : RIGHT_TO_LEFT_LETTER.test(first) ? 'rtl' : 'ltr';
};

/** The sides of `start` and `end`; left, right and all else stay what they say. */
export const sideOf = <Other extends string>(
  align: Other | 'start' | 'end',
  direction: Direction,
): Exclude<Other, 'start' | 'end'> | 'left' | 'right' => {
  switch (align) {
    case 'start':
      return direction === 'rtl' ? 'right' : 'left';
    case 'end':
      return direction === 'rtl' ? 'left' : 'right';
    default:
      return align as Exclude<Other, 'start' | 'end'>;
  }
};

const MAY_RUN_FROM_RIGHT =
  /[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * True if a part of the text may run from right to left. Most text does not, and the test costs next to nothing for
 * Latin letters.
 */
export const holdsRightToLeft = (text: string): boolean => MAY_RUN_FROM_RIGHT.test(text);

/** Text of the author before a value and around it. */
export type TextAround = Readonly<{
  /** The direction of the last letter before the value, in its phrase. */
  before?: Direction;
  /** The author's own text has letters that run from the right. */
  holdsRightToLeft?: true;
}>;

/**
 * Values that are set apart from the text around, as one or several, with the signs that belong to them: `#{{number}}`,
 * `{{first}} {{last}}`.
 */
export type ApartValues<Value> = Readonly<{
  values: readonly Value[];
  /** Text between each two of them. */
  between: readonly string[];
  head: string;
  tail: string;
}>;

const SIGNS_BEFORE = /(?<=^|[\s\u200e\u200f([{«"'>])[#+\-−@$€£¥₪₹°№~*0-9][#+\-−@$€£¥₪₹°№~*0-9./:_]*$/u;
const SIGNS_AFTER = /^(?:[-–—./:_]?[A-Za-z0-9%°€£$¥₪₹‰+#])+/;
/** Values that become one: a text of more may be longer than a string can be. */
const JOINED_MAX = 16;
/** Blanks between two values, or signs without a blank, make one of them: of a name, an address, a code, a range. */
const JOINT = /^(?:[,\u060c]?[ \t\u00a0]+|[\w\-–—./:+#@%=*×]*)$/;

/**
 * In: a templated text, taken apart. Out: its literals, and the values that are to be set apart. `isShown` is false for
 * values that nobody reads, such as those of attributes.
 */
export const apartIn = <Value extends object>(
  text: readonly (string | Value)[],
  isShown: (value: Value) => boolean = () => true,
): readonly (string | Value | ApartValues<Value>)[] => {
  const out: (string | Value | ApartValues<Value>)[] = [];
  const rest = [...text];
  for (let at = 0; at < rest.length; at += 1) {
    const part = rest[at]!;
    if (typeof part === 'string' || !isShown(part)) {
      out.push(part);
      continue;
    }
    const values = [part];
    const between: string[] = [];
    while (values.length < JOINED_MAX) {
      const [next, after] = [rest[at + 1], rest[at + 2]];
      const joint = typeof next === 'string' ? next : '';
      const value = typeof next === 'string' ? after : next;
      if (value === undefined || typeof value === 'string' || !isShown(value) || !JOINT.test(joint)) break;
      values.push(value);
      between.push(joint);
      at += typeof next === 'string' ? 2 : 1;
    }
    const [last, next] = [out.at(-1), rest[at + 1]];
    const head = typeof last === 'string' ? (SIGNS_BEFORE.exec(last)?.[0] ?? '') : '';
    const tail = typeof next === 'string' ? (SIGNS_AFTER.exec(next)?.[0] ?? '') : '';
    if (typeof last === 'string' && head !== '') out[out.length - 1] = last.slice(0, last.length - head.length);
    if (typeof next === 'string' && tail !== '') rest[at + 1] = next.slice(tail.length);
    out.push({ values, between, head, tail });
  }
  return out.filter((part) => part !== '');
};

/** A piece of filled text; `direction` is undefined where it needs not be set apart. */
export type ApartText = Readonly<{ text: string; direction: Direction | undefined }>;

/** A number that is drawn the same way in any text. */
const PLAIN_NUMBER = /^\p{Nd}*(?:[.,٫٬:]\p{Nd}+)*$/u;
/**
 * Words that run from the right with the marks of sentences, which are drawn the same way in any text that runs from
 * there.
 */
const RIGHT_TO_LEFT_WORDS =
  /^(?:(?!\p{Nd})[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Thaana}\p{Script=Syriac}\p{Script=Nko}\p{Script=Adlam}\p{M}]|[\s.,:;!?"'«»“”…()\u060c\u061b\u061f])+$/u;

/**
 * In: the texts of the values, what joins them, and the direction of the text around, undefined where it may be either.
 * Out: pieces in reading order. Values join where they run the same way (a first name and a last name), or stand
 * together as a code does.
 */
export const setApart = (
  texts: readonly string[],
  { between, head, tail }: Pick<ApartValues<unknown>, 'between' | 'head' | 'tail'>,
  around: Direction | undefined,
): readonly ApartText[] => {
  const out: ApartText[] = [];
  const directions = directionsOf(texts);
  let [open = ''] = texts;
  let [direction] = directions;
  const close = (): void =>
    void out.push({ text: open, direction: needsNot(open, around) ? undefined : (direction ?? 'ltr') });
  if (direction === 'rtl') out.push({ text: head, direction: undefined });
  else open = head + open;
  for (let at = 1; at < texts.length; at += 1) {
    const [joint = '', text = ''] = [between[at - 1], texts[at]];
    const own = directions[at];
    const isSpaced = /\s/.test(joint);
    const joins =
      text === '' ||
      open === '' ||
      (isSpaced
        ? own !== undefined && own === direction && isJoint(joint, around)
        : own !== 'rtl' && direction !== 'rtl');
    if (joins) {
      open += joint + text;
      direction ??= own;
      continue;
    }
    close();
    out.push({ text: joint, direction: undefined });
    open = text;
    direction = own;
  }
  if (direction !== 'rtl') open += tail;
  close();
  if (direction === 'rtl') out.push({ text: tail, direction: undefined });
  return out.filter(({ text }) => text !== '');
};

/** The direction of each text. A text without a letter runs as those on both sides do: the code within an address. */
const directionsOf = (texts: readonly string[]): readonly (Direction | undefined)[] => {
  const own = texts.map(ownDirection);
  return own.map((direction, at) => direction ?? (own[at - 1] === own[at + 1] ? own[at - 1] : undefined));
};

/** A text with parts that are set apart runs as the first letter of its other words. */
const ownDirection = (text: string): Direction | undefined =>
  (holdsIsolates(text) ? directionOfText(text.replace(/[\u2066-\u2068][^\u2066-\u2069]*\u2069/g, '')) : undefined) ??
  directionOfText(text);

/** In text from the left, a list runs from the left whatever stands in it. */
const isJoint = (joint: string, around: Direction | undefined): boolean => around !== 'ltr' || joint.trim() === '';

const needsNot = (text: string, around: Direction | undefined): boolean => {
  if (around === 'ltr') return !holdsRightToLeft(text);
  return PLAIN_NUMBER.test(text) || (around === 'rtl' && RIGHT_TO_LEFT_WORDS.test(text)) || text.trim() === '';
};

/** Characters that set text apart in texts without markup (UAX #9); the last ends what one of the others began. */
const LTR_ISOLATE = '\u2066';
const RTL_ISOLATE = '\u2067';
const END_OF_ISOLATE = '\u2069';

/** A mark as a letter of that direction, which nobody sees. */
export const markOf = (direction: Direction): string => (direction === 'rtl' ? '\u200f' : '\u200e');

const ISOLATES = /[\u2066-\u2069]/g;
/** The characters that `isolated` writes. */
export const withoutIsolates = (text: string): string => (holdsIsolates(text) ? text.replace(ISOLATES, '') : text);
export const holdsIsolates = (text: string): boolean => /[\u2066-\u2069]/.test(text);

/** The text set apart by the characters of Unicode. Isolates that the text itself begins end within it. */
export const isolated = (text: string, direction: Direction): string => {
  const [inner, open] = holdsIsolates(text) ? balanced(text) : [text, 0];
  return (direction === 'rtl' ? RTL_ISOLATE : LTR_ISOLATE) + inner + END_OF_ISOLATE.repeat(open + 1);
};

/** The text without ends that have no beginning, and how many ends it lacks. */
const balanced = (text: string): readonly [string, number] => {
  let open = 0;
  const kept = text.replace(ISOLATES, (character) => {
    if (character !== END_OF_ISOLATE) open += 1;
    else if (open === 0) return '';
    else open -= 1;
    return character;
  });
  return [kept, open];
};

/**
 * Depth of nested isolates that continue in the next line. Deeper ones end with their line, so that the text grows only
 * with its lines.
 */
const CONTINUED_MAX = 8;

/**
 * In: text of several lines. Out: the same, each line with ends of what it begins: a line break ends the text that is
 * set apart, so the next line begins it again.
 */
export const isolatesByLine = (text: string): string => {
  if (!holdsIsolates(text)) return text;
  const open: string[] = [];
  return text
    .split('\n')
    .map((line) => {
      const begun = open.join('');
      let depth = open.length;
      for (const [character] of line.matchAll(ISOLATES)) {
        if (character !== END_OF_ISOLATE) {
          if (depth < CONTINUED_MAX) open.push(character);
          depth += 1;
        } else if (depth > 0) {
          depth -= 1;
          if (depth < open.length) open.pop();
        }
      }
      return begun + line + END_OF_ISOLATE.repeat(depth);
    })
    .join('\n');
};

/** `mark`: the direction of the words before, where it may be another than that of the text around. */
export const apartText = (pieces: readonly ApartText[], mark: Direction | undefined): string =>
  pieces
    .map(({ text, direction }) =>
      direction === undefined ? text : isolated(text, direction) + (direction === mark ? markOf(mark) : ''),
    )
    .join('');

/** The texts of values set apart from text of that direction. */
export const isolatedValues = (
  { values, ...joints }: ApartValues<Readonly<{ text: string; around?: TextAround }>>,
  direction: Direction,
): string => {
  const texts = values.map(({ text }) => text);
  const around = direction === 'ltr' && values.some((value) => value.around?.holdsRightToLeft) ? undefined : direction;
  const before = values[0]?.around?.before;
  return apartText(setApart(texts, joints, around), before === direction ? undefined : before);
};
