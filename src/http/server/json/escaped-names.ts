/**
 * Names of members that are written with an escape, such as `"\u540d\u524d"` or `"a\"b"`. V8 (13.6 and 14.6, not 12.4) compares as many letters of such
 * a name as it has when it is read with names of objects of the same shape, as it is written: once it has seen the name `\u`, whoever sent it,
 * it takes the first of these for it. So names are written plainly before JSON.parse sees them; those that JSON can only write with an escape
 * are refused, for what is stored is read by JSON.parse, too.
 */
import type { FieldError } from '../../../domain/core/errors.js';
import { needsEscape } from '../../../domain/core/json.js';
import { childPath } from './inspect.js';

const COLON = ':';
const BLANK = /[\t\n\r ]/;

/** The offsets of its quotation marks. */
type Place = Readonly<{ start: number; end: number }>;

/** In: a text that may be JSON. Linear: no letter is searched for behind a place where it was found already. */
const escapedNames = (text: string): readonly Place[] => {
  const found: Place[] = [];
  const { length } = text;
  const nextOf = (letter: string, at: number): number => {
    const next = text.indexOf(letter, at);
    return next < 0 ? length : next;
  };
  let escape = nextOf('\\', 0);
  let start = nextOf('"', 0);
  while (start < length && escape < length) {
    if (escape < start) escape = nextOf('\\', start);
    let end = nextOf('"', start + 1);
    const isEscaped = escape < end;
    while (escape < end) {
      const behind = escape + 2;
      if (behind > end) end = nextOf('"', behind);
      escape = nextOf('\\', behind);
    }
    let after = end + 1;
    if (isEscaped) while (after < length && BLANK.test(text[after]!)) after += 1;
    if (isEscaped && text[after] === COLON) found.push({ start, end });
    start = nextOf('"', end + 1);
  }
  return found;
};

const decoded = (text: string, { start, end }: Place): string => JSON.parse(text.slice(start, end + 1)) as string;

/** In: a JSON text. Out: the same with each name written plainly, where JSON allows that. Throws SyntaxError where an escape is none. */
export const withPlainNames = (text: string): string => {
  let plain = '';
  let from = 0;
  for (const place of escapedNames(text)) {
    plain += `${text.slice(from, place.start)}${JSON.stringify(decoded(text, place))}`;
    from = place.end + 1;
  }
  return from === 0 ? text : plain + text.slice(from);
};

const inTranslations = 'in `translations` write \' for ", / for a backslash and a blank for a line break, elsewhere leave it out';

/** In: a JSON text. Out: the fault of a name that only an escape can write, or undefined. */
export const escapedNameFault = (text: string): FieldError | undefined => {
  const name = escapedNames(text)
    .map((place) => decoded(text, place))
    .find(needsEscape);
  if (name === undefined) return undefined;
  return {
    field: childPath('', name),
    message: `is not allowed as a name: it has a quotation mark, a backslash or a control character; ${text.includes('"translations"') ? inTranslations : 'leave it out'}`,
  };
};
