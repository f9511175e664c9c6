/** The methods of text that expressions have: none takes a regular expression or a function. Text is UTF-16, as in JavaScript. */
import { concat, numberOf, textOf } from './convert.js';
import { ExpressionError } from './errors.js';
import { charge, checkItems, checkTextSize, costOfText, madeText, type Run, type Value } from './values.js';

/** `at` is the place of the call in the source. The call itself is charged by the caller, the work by the method. */
export type Method<Receiver> = (receiver: Receiver, args: readonly Value[], run: Run, at: number) => Value;

type TextMethod = Method<string>;

const optionalNumber = (run: Run, value: Value, at: number): number | undefined =>
  value === undefined ? undefined : numberOf(run, value, at);

/** Methods that only reach into the text: what they answer is charged, not what they come from. */
const cut =
  (apply: (text: string, first: number | undefined, second: number | undefined) => string | undefined): TextMethod =>
  (text, [first, second], run, at) => {
    const made = apply(text, optionalNumber(run, first, at), optionalNumber(run, second, at));
    return made === undefined ? undefined : madeText(run, made, at);
  };

/** Methods that go over the whole text. */
const over =
  (apply: (text: string) => string): TextMethod =>
  (text, _args, run, at) => {
    charge(run, costOfText(text.length), at);
    checkTextSize(run, text.length, at);
    return madeText(run, apply(text), at);
  };

const code =
  (apply: (text: string, place: number) => number | undefined): TextMethod =>
  (text, [place], run, at) =>
    apply(text, numberOf(run, place ?? 0, at));

const STEPS_PER_OPERATION = 65_536;

/** Finding one text in another takes at worst the product of their lengths. */
const chargeSearch = (run: Run, text: string, part: string, at: number): void =>
  charge(run, costOfText(text.length) + Math.floor((text.length * part.length) / STEPS_PER_OPERATION), at);

const search =
  <T extends Value>(apply: (text: string, part: string, from: number | undefined) => T): TextMethod =>
  (text, [wanted, from], run, at) => {
    const part = textOf(run, wanted, at);
    chargeSearch(run, text, part, at);
    return apply(text, part, optionalNumber(run, from, at));
  };

const pad =
  (apply: (text: string, length: number, filler: string) => string): TextMethod =>
  (text, [wanted, filling], run, at) => {
    const length = numberOf(run, wanted, at);
    const filler = filling === undefined ? ' ' : textOf(run, filling, at);
    if (length > text.length) checkTextSize(run, length, at);
    return madeText(run, apply(text, length, filler), at);
  };

const repeat: TextMethod = (text, [wanted], run, at) => {
  const count = Math.trunc(numberOf(run, wanted, at)) || 0;
  if (count < 0 || count === Infinity)
    throw new ExpressionError('WRONG_ARGUMENT', 'calls "repeat" with a count that is negative or endless', at);
  checkTextSize(run, text.length * count, at);
  return madeText(run, text.repeat(text === '' ? 0 : count), at);
};

const split: TextMethod = (text, [separator, most], run, at) => {
  const itemsMax = run.limits.expressionItemsMax;
  const limit = most === undefined ? undefined : numberOf(run, most, at) >>> 0;
  if (separator === undefined) return limit === 0 ? [] : [text];
  const part = textOf(run, separator, at);
  chargeSearch(run, text, part, at);
  const pieces = text.split(part, Math.min(limit ?? Infinity, itemsMax + 1));
  checkItems(run, pieces.length, at);
  charge(run, pieces.length, at);
  return pieces;
};

/** A dollar sign in the replacement is a dollar sign: there are no groups that it could stand for. */
const replace =
  (all: boolean): TextMethod =>
  (text, [wanted, put], run, at) => {
    const part = textOf(run, wanted, at);
    const replacement = textOf(run, put, at);
    checkTextSize(run, text.length, at);
    chargeSearch(run, text, part, at);
    const places = all ? placesOf(text, part) : Number(text.includes(part));
    checkTextSize(run, text.length + places * (replacement.length - part.length), at);
    return madeText(run, all ? text.replaceAll(part, () => replacement) : text.replace(part, () => replacement), at);
  };

/** How often the part stands in the text; the empty part stands before each character and at the end. */
const placesOf = (text: string, part: string): number => (part === '' ? text.length + 1 : text.split(part).length - 1);

const forms = ['NFC', 'NFD', 'NFKC', 'NFKD'];

const normalize: TextMethod = (text, [wanted], run, at) => {
  const form = wanted === undefined ? 'NFC' : textOf(run, wanted, at);
  if (!forms.includes(form))
    throw new ExpressionError('WRONG_ARGUMENT', `calls "normalize" with another form than ${forms.join(', ')}`, at);
  return over((whole) => whole.normalize(form))(text, [], run, at);
};

/** One collation for every machine, whatever language it runs in. */
const collator = new Intl.Collator('en');

const localeCompare: TextMethod = (text, [other, ...more], run, at) => {
  if (more.length > 0) throw new ExpressionError('WRONG_ARGUMENT', 'calls "localeCompare" with more than one argument', at);
  const right = textOf(run, other, at);
  charge(run, costOfText(text.length + right.length), at);
  return collator.compare(text, right);
};

export const textMethods: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ...Object.entries<TextMethod>({
    at: cut((text, place) => text.at(place ?? 0)),
    charAt: cut((text, place) => text.charAt(place ?? 0)),
    charCodeAt: code((text, place) => text.charCodeAt(place)),
    codePointAt: code((text, place) => text.codePointAt(place)),
    concat: (text, args, run, at) => args.reduce<string>((made, arg) => concat(run, made, textOf(run, arg, at), at), text),
    endsWith: search((text, part, end) => text.endsWith(part, end)),
    includes: search((text, part, from) => text.includes(part, from)),
    indexOf: search((text, part, from) => text.indexOf(part, from)),
    lastIndexOf: search((text, part, from) => text.lastIndexOf(part, from)),
    localeCompare,
    normalize,
    padEnd: pad((text, length, filler) => text.padEnd(length, filler)),
    padStart: pad((text, length, filler) => text.padStart(length, filler)),
    repeat,
    replace: replace(false),
    replaceAll: replace(true),
    slice: cut((text, from, to) => text.slice(from, to)),
    split,
    startsWith: search((text, part, from) => text.startsWith(part, from)),
    substring: cut((text, from, to) => text.substring(from ?? 0, to)),
    toLowerCase: over((text) => text.toLowerCase()),
    toUpperCase: over((text) => text.toUpperCase()),
    trim: over((text) => text.trim()),
    trimEnd: over((text) => text.trimEnd()),
    trimStart: over((text) => text.trimStart()),
  }),
  ['toString', (text) => text],
  ['valueOf', (text) => text],
]);
