/**
 * Names of members that are written as one escape, such as `"\u540d"` or `"\n"`. V8 (13.6 and 14.6, not 12.4) takes such a name for a
 * backslash where it has seen an object of the same shape with a backslash for a name, whoever sent that. So they are written plainly before JSON.parse sees them; those
 * that JSON can only write as an escape are refused, for what is stored is read by JSON.parse, too.
 */
import type { FieldError } from '../../domain/errors.js';

/** The quotation mark before the escape is not escaped itself, so it begins a string. */
const NAME_OF_ONE_ESCAPE = /(?<!\\)"\\(?:u([0-9a-fA-F]{4})|["\\/bfnrt])"(?=[\t\n\r ]*:)/;
const EVERY_NAME_OF_ONE_ESCAPE = new RegExp(NAME_OF_ONE_ESCAPE, 'g');

/** Quotation mark, backslash, control characters, halves of surrogate pairs. */
const needsEscape = (character: string): boolean => JSON.stringify(character).length > 3;

/** In: a JSON text. Out: the same text with each name of one escape written plainly, where JSON allows that. */
export const withPlainNames = (text: string): string =>
  NAME_OF_ONE_ESCAPE.test(text)
    ? text.replace(EVERY_NAME_OF_ONE_ESCAPE, (name, hex: string | undefined) => {
        const character = hex === undefined ? name.at(-2) : String.fromCharCode(Number.parseInt(hex, 16));
        const isPlain = character !== undefined && (hex === undefined ? character === '/' : !needsEscape(character));
        return isPlain ? `"${character}"` : name;
      })
    : text;

/** In: what `withPlainNames` has made of a text. Out: the fault of a name that only an escape can write, or undefined. */
export const escapedNameFault = (text: string): FieldError | undefined => {
  const [name] = NAME_OF_ONE_ESCAPE.exec(text) ?? [];
  return name === undefined
    ? undefined
    : { field: name, message: 'is not allowed as a name: it is one character that JSON can write only as an escape; take a longer name' };
};
