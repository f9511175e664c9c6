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

/** True where the text has more than so many characters. */
export const isLonger = (text: string, charsMax: number): boolean => text.length > charsMax && charsOf(text) > charsMax;

/** The first characters of a text; never half of one. */
export const firstChars = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : [...text.slice(0, 2 * charsMax)].slice(0, charsMax).join('');

/** Control characters, and the two that break a line in Unicode. */
export const holdsControls = (text: string): boolean => /[\p{Cc}\u2028\u2029]/u.test(text);
