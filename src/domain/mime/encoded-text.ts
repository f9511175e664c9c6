/** Text outside ASCII where a message allows only ASCII: encoded words (RFC 2047) and extended parameters (RFC 2231). */

/** RFC 2047, section 2: an encoded word has at most 75 characters, its line at most 76. */
const ENCODED_WORD_CHARS_MAX = 75;
const OPENING_B = '=?utf-8?B?';
const OPENING_Q = '=?utf-8?Q?';
const CLOSING = '?=';
const BYTES_PER_B_WORD = Math.floor((ENCODED_WORD_CHARS_MAX - OPENING_B.length - CLOSING.length) / 4) * 3;
const CHARS_PER_Q_WORD = ENCODED_WORD_CHARS_MAX - OPENING_Q.length - CLOSING.length;

/** What may stand bare in a Q word everywhere, a phrase included (RFC 2047, section 5, rule 3). */
const Q_BARE = /^[A-Za-z0-9!*+/-]$/;

/** Control characters have no place in a header: each becomes a space, so that no value can end its line. */
export const withoutControls = (text: string): string => text.replace(/[\x00-\x1f\x7f]/g, ' ');

/** In: a character (code point). Out: its UTF-8 as `=XX` for each byte, or what stands for it in a Q word. */
const qOf = (character: string): string => {
  if (character === ' ') return '_';
  return Q_BARE.test(character) ? character : percentLike(character, '=');
};

const percentLike = (character: string, mark: string): string => {
  let out = '';
  for (const byte of Buffer.from(character, 'utf8')) out += mark + (byte < 16 ? '0' : '') + byte.toString(16).toUpperCase();
  return out;
};

/**
 * The text as encoded words of UTF-8, each whole characters only (RFC 2047, section 5), in the encoding that is shorter.
 * Their reader joins them again without the space between them. `usedChars` of the first word's line are taken already.
 */
export const encodedWords = (text: string, usedChars = 0): readonly string[] => {
  const units = [...text].map(qOf);
  const qChars = units.reduce((sum, unit) => sum + unit.length, 0);
  const bChars = Math.ceil(Buffer.byteLength(text, 'utf8') / 3) * 4;
  // Where too little is left, the first word goes to a line of its own.
  const short = usedChars > ENCODED_WORD_CHARS_MAX / 2 ? 0 : usedChars;
  return qChars <= bChars ? wordsOfQ(units, short) : wordsOfB(text, short);
};

const wordsOfQ = (units: readonly string[], short: number): readonly string[] => {
  const words: string[] = [];
  let word = '';
  let room = CHARS_PER_Q_WORD - short;
  for (const unit of units) {
    if (word.length + unit.length > room) {
      words.push(OPENING_Q + word + CLOSING);
      word = '';
      room = CHARS_PER_Q_WORD;
    }
    word += unit;
  }
  words.push(OPENING_Q + word + CLOSING);
  return words;
};

const wordsOfB = (text: string, short: number): readonly string[] => {
  const words: string[] = [];
  let piece = '';
  let pieceBytes = 0;
  const push = (): void => void words.push(OPENING_B + Buffer.from(piece, 'utf8').toString('base64') + CLOSING);
  for (const character of text) {
    const bytes = Buffer.byteLength(character, 'utf8');
    const room = words.length === 0 ? BYTES_PER_B_WORD - Math.ceil(short / 4) * 3 : BYTES_PER_B_WORD;
    if (pieceBytes + bytes > room) {
      push();
      piece = '';
      pieceBytes = 0;
    }
    piece += character;
    pieceBytes += bytes;
  }
  push();
  return words;
};

const PARAMETER_CHARS_MAX = 60;
/** attribute-char of RFC 2231, section 7. */
const ATTRIBUTE_CHAR = /^[A-Za-z0-9!#$&+.^_`{}~-]$/;

/**
 * A parameter of a MIME header, ready to be joined by `;` and a fold. Plain ASCII gives `name="value"`; anything else,
 * and what is too long for a line, gives an ASCII fallback for old readers and `name*=utf-8''…` (RFC 2231), in pieces where it is long.
 */
export const mimeParameter = (name: string, value: string): readonly string[] => {
  const clean = withoutControls(value);
  const fallback = asciiFallback(clean);
  if (fallback === clean && clean.length <= PARAMETER_CHARS_MAX) return [`${name}="${clean}"`];

  const pieces: string[] = [];
  let piece = "utf-8''";
  for (const character of clean) {
    const unit = ATTRIBUTE_CHAR.test(character) ? character : percentLike(character, '%');
    if (piece.length + unit.length > PARAMETER_CHARS_MAX) {
      pieces.push(piece);
      piece = '';
    }
    piece += unit;
  }
  pieces.push(piece);
  const extended = pieces.length === 1 ? [`${name}*=${pieces[0]}`] : pieces.map((text, index) => `${name}*${index}*=${text}`);
  return [`${name}="${shortened(fallback)}"`, ...extended];
};

const asciiFallback = (text: string): string => text.replace(/[^\x20-\x7e]/gu, '_').replace(/["\\]/g, '_');

/** Keeps the extension, by which old readers choose a program. */
const shortened = (text: string): string => {
  if (text.length <= PARAMETER_CHARS_MAX) return text;
  const extension = /\.[A-Za-z0-9]{1,8}$/.exec(text)?.[0] ?? '';
  return text.slice(0, PARAMETER_CHARS_MAX - extension.length) + extension;
};
