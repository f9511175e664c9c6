/** What is kept of the answer of an endpoint: it may say again what it was sent, and an address must not outlive its email that way. */

const REPLACED = '[address]';
/** The sign of an address as it is, and as URLs, JSON and HTML write it. */
const AT_SIGN = /@|%40|\\u0040|&#(?:0*64|x0*40)|&commat/i;
/** A local part in quotes may hold what else ends a word. */
const QUOTED = /"[^"]*"(?=@)/g;
const WORD = /[^\s"'<>()[\],;:]+/g;

/**
 * In: the beginning of an answer, cut at so many bytes. Out: the same with each word replaced that has the sign of an address in it, and the
 * last one of a text that was cut, for it may be the beginning of one.
 */
export const keptAnswer = (text: string, bytesMax: number): string => {
  const isCut = Buffer.byteLength(text) >= bytesMax;
  const replaced = text
    .replace(QUOTED, '')
    .replace(WORD, (word, at: number, whole: string) =>
      AT_SIGN.test(word) || (isCut && at + word.length === whole.length) ? REPLACED : word,
    );
  return replaced.slice(0, bytesMax);
};
