/** Characters are Unicode code points wherever they are counted or cut, as JSON Schema counts them: an emoji is one. */

/** In: well-formed text. Out: how many characters it has. */
export const charsOf = (text: string): number => {
  let chars = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit <= 0xdbff) chars -= 1;
  }
  return chars;
};

/** In: a text. Out: the code point of its first character, such as `U+170B`. */
export const codePointOf = (text: string): string => `U+${(text.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** True where the text has more than so many characters. */
export const isLonger = (text: string, charsMax: number): boolean => text.length > charsMax && charsOf(text) > charsMax;

/** The first characters of a text; never half of one. */
export const firstChars = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : [...text.slice(0, 2 * charsMax)].slice(0, charsMax).join('');

/** Control characters, the two that break a line in Unicode, and those that turn the direction of what follows; as in a pattern. */
const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029';
const TURNING = '\\u202a-\\u202e\\u2066-\\u2069';
/** Blanks, and what Unicode says is not shown (joiners, marks, fillers, tags) of all its planes: nobody sees a name of nothing else. */
const INVISIBLE = '\\s\\u2800\\ufff9-\\ufffb\\p{Default_Ignorable_Code_Point}';

/**
 * The one rule of names of people and things, as a pattern that is read by characters (`u`); an empty name is for its length to refuse. It
 * reads a text once, whatever is in it.
 */
export const NAME = `^(?:|(?=[${INVISIBLE}]*[^${INVISIBLE}])[^${CONTROLS}${TURNING}]*)$`;
/** Text of several lines. */
export const TEXT = '^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$';

const fitting = (pattern: string): ((text: string) => boolean) => {
  const compiled = new RegExp(pattern, 'u');
  return (text) => compiled.test(text);
};
const isName = fitting(NAME);
const turnsText = fitting(`[${TURNING}]`);

/** In: a text. Out: why it cannot be the name of anything, or undefined. */
export const nameFault = (text: string): string | undefined => {
  if (isName(text)) return undefined;
  if (holdsControls(text)) return 'must not hold control characters or line breaks';
  if (turnsText(text)) return 'must not hold characters that turn the direction of text (U+202A to U+202E, U+2066 to U+2069)';
  return 'must have a visible character';
};

/** Control characters, and the two that break a line in Unicode. */
export const holdsControls = (text: string): boolean => /[\p{Cc}\u2028\u2029]/u.test(text);
