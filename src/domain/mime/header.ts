/**
 * Writes single header fields (RFC 5322), folded below 78 characters, with text outside ASCII as encoded words (RFC
 * 2047) or extended parameters (RFC 2231); and checks which custom fields a caller may set.
 */
import { charsOf, inPlainAscii, isLonger } from '../../shared/text.js';
import { parseAddress } from './address.js';
import { defaultLimits } from '../core/limits.js';

/** RFC 2047, section 2: an encoded word has at most 75 characters, its line at most 76. */
const ENCODED_WORD_CHARS_MAX = 75;
const OPENING_B = '=?utf-8?B?';
const OPENING_Q = '=?utf-8?Q?';
const CLOSING = '?=';
const BYTES_PER_B_WORD = Math.floor((ENCODED_WORD_CHARS_MAX - OPENING_B.length - CLOSING.length) / 4) * 3;
const CHARS_PER_Q_WORD = ENCODED_WORD_CHARS_MAX - OPENING_Q.length - CLOSING.length;

/** Characters that need no escape in a Q word anywhere, also in a phrase (RFC 2047, section 5, rule 3). */
const Q_BARE = /^[A-Za-z0-9!*+/-]$/;

/** Each control character becomes a space, so that no value can end its line. */
const withoutControls = (text: string): string => text.replace(/[\x00-\x1f\x7f]/g, ' ');

/** One character (code point) in a Q word: itself, `_` for a space, or `=XX` for each byte of its UTF-8. */
const qOf = (character: string): string => {
  if (character === ' ') return '_';
  return Q_BARE.test(character) ? character : percentLike(character, '=');
};

/** Each byte of the UTF-8 of a character as two hexadecimal digits after the mark. */
const percentLike = (character: string, mark: string): string => {
  let out = '';
  for (const byte of Buffer.from(character, 'utf8'))
    out += mark + (byte < 16 ? '0' : '') + byte.toString(16).toUpperCase();
  return out;
};

/**
 * The text as encoded words in UTF-8, in the shorter encoding; each word holds whole characters (RFC 2047, section 5).
 * Readers join the words without the spaces between them. `usedChars`: how much of the first line is taken.
 */
const encodedWords = (text: string, usedChars = 0): readonly string[] => {
  const units = [...text].map(qOf);
  const qChars = units.reduce((sum, unit) => sum + unit.length, 0);
  const bChars = Math.ceil(Buffer.byteLength(text, 'utf8') / 3) * 4;
  // With too little room left, the first word begins a new line.
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
/** Some readers order the pieces as texts, so that the tenth would follow the first. */
const PIECES_MAX = 10;
/** A character has at most four bytes. */
const UNIT_CHARS_MAX = 12;
const CHARSET = "utf-8''";
/** A quoted string has one line, of which this leaves room for the rest (RFC 5322, section 2.1.1). */
const QUOTED_NAME_CHARS_MAX = 900;
/** attribute-char of RFC 2231, section 7. */
const ATTRIBUTE_CHAR = /^[A-Za-z0-9!#$&+.^_`{}~-]$/;

/**
 * A parameter of a MIME header, ready to be joined by `;` and a fold: `name="value"` for plain ASCII, else
 * `name*=utf-8''…` (RFC 2231), in pieces if it is long. The two never stand together, because readers then take either.
 */
export const mimeParameter = (name: string, value: string): readonly string[] => {
  const clean = withoutControls(value);
  // Readers decode what looks like an encoded word, in quotes too.
  const isPlain = inPlainAscii(clean) === clean && !clean.includes('=?');
  if (isPlain && clean.length <= QUOTED_NAME_CHARS_MAX) return [`${name}="${clean}"`];
  const units = [...clean].map((character) =>
    ATTRIBUTE_CHAR.test(character) ? character : percentLike(character, '%'),
  );
  const chars = units.reduce((sum, { length }) => sum + length, CHARSET.length);
  const pieceCharsMax = Math.max(PARAMETER_CHARS_MAX, Math.ceil(chars / PIECES_MAX) + UNIT_CHARS_MAX);
  const pieces: string[] = [];
  let piece = CHARSET;
  for (const unit of units) {
    if (piece.length + unit.length > pieceCharsMax) {
      pieces.push(piece);
      piece = '';
    }
    piece += unit;
  }
  pieces.push(piece);
  return pieces.length === 1 ? [`${name}*=${pieces[0]}`] : pieces.map((text, index) => `${name}*${index}*=${text}`);
};

/** The parameter in ASCII alone, for readers that do not know RFC 2231. */
export const plainParameter = (name: string, value: string): string => {
  const text = inPlainAscii(withoutControls(value));
  // Programs are chosen by the extension.
  const extension = /\.[A-Za-z0-9]{1,8}$/.exec(text)?.[0] ?? '';
  return `${name}="${text.length <= QUOTED_NAME_CHARS_MAX ? text : text.slice(0, QUOTED_NAME_CHARS_MAX - extension.length) + extension}"`;
};

/**
 * RFC 5322, section 2.1.1, asks for 78 without the CRLF; lines with encoded words have at most 76 (RFC 2047, section
 * 2).
 */
const LINE_CHARS_WANTED = 76;
const LINE_CHARS_MAX = 998;

/** A field name is one token of at most this shape (RFC 5322, section 2.2, narrowed to what every relay carries). */
const FIELD_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

/**
 * Fields that the service writes itself, or that would redirect, break or forge a message. Lower case; a trailing `*`
 * matches any rest.
 */
const reservedHeaders: readonly string[] = [
  'from',
  'sender',
  'reply-to',
  'to',
  'cc',
  'bcc',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'content-*',
  'x-priority',
  'x-msmail-priority',
  'importance',
  'return-path',
  'received',
  'received-spf',
  'errors-to',
  'apparently-to',
  'delivered-to',
  'x-original-to',
  'dkim-signature',
  'domainkey-signature',
  'authentication-results',
  'arc-*',
  'resent-*',
  'x-service-*',
  'x-sealpost-*',
];

/**
 * Fields that instruct a relay: other recipients, another account, tracking, suppression. Lower case; a trailing `*`
 * matches any rest.
 */
const relayControlHeaders: Readonly<Record<string, readonly string[]>> = {
  SendGrid: ['x-smtpapi', 'x-sg-*'],
  Mandrill: ['x-mc-*', 'x-mandrill-*'],
  Postmark: ['x-pm-*', 'x-postmark-*'],
  'Amazon SES': ['x-ses-*', 'x-amzn-*'],
  Mailgun: ['x-mailgun-*'],
  Mailjet: ['x-mj-*', 'x-mailjet-*'],
  SparkPost: ['x-msys-*'],
  Brevo: ['x-sib-*', 'x-mailin-*', 'x-brevo-*'],
  MailerSend: ['x-mailersend-*'],
  Mailtrap: ['x-mt-*', 'x-mailtrap-*'],
  SMTP2GO: ['x-smtp2go-*'],
  'Elastic Email': ['x-elasticemail-*', 'istransactional'],
  SocketLabs: ['x-xsmailingid', 'x-xsmessageid', 'x-socketlabs-*'],
  Resend: ['x-resend-*'],
  Scaleway: ['x-scw-*'],
  ZeptoMail: ['x-zm-*', 'x-zeptomail-*'],
  Postal: ['x-postal-*'],
  'PowerMTA and GreenArrow': ['x-virtual-mta', 'x-virtualmta', 'x-job', 'x-greenarrow-*', 'x-pmta-*', 'x-dkim-options'],
  'Microsoft Exchange': ['x-ms-exchange-*', 'x-microsoft-antispam*', 'x-forefront-*'],
};

/** True if the list of the matcher has the name, given in lower case. */
export type HeaderMatcher = (lower: string) => boolean;

/** A matcher for a list of names; an entry with a trailing `*` matches names that begin with it. */
export const matcherOf = (list: readonly string[]): HeaderMatcher => {
  const names = new Set(list.filter((name) => !name.endsWith('*')));
  const prefixes = list.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  return (lower) => names.has(lower) || prefixes.some((prefix) => lower.startsWith(prefix));
};

const isReserved = matcherOf(reservedHeaders);
const relays = Object.entries(relayControlHeaders).map(([relay, list]) => ({ relay, takes: matcherOf(list) }));

/**
 * In: names with commas between them, each whole or a beginning with `*`. Out: the instructions to relays that an
 * operator allows, or what is wrong with the list.
 */
export const parseAllowedHeaders = (
  text: string,
): Readonly<{ names: readonly string[] }> | Readonly<{ fault: string }> => {
  const names = text.trim() === '' ? [] : text.split(',').map((entry) => entry.trim().toLowerCase());
  for (const name of names) {
    const fault = allowedHeaderFault(name);
    if (fault !== undefined) return { fault: `"${name}" ${fault}` };
  }
  return { names };
};

const allowedHeaderFault = (entry: string): string | undefined => {
  const name = entry.endsWith('*') ? entry.slice(0, -1) : entry;
  if (!FIELD_NAME.test(name) || name.includes('*'))
    return 'is no name of a header, nor the beginning of one with * behind it';
  if (isReserved(name)) return 'is set by the service, or would change how the message travels';
  // A prefix is allowed if everything that it matches instructs the same relay.
  const isOne = relays.some(({ takes }) => takes(name) && (name === entry || takes(`${name}*`)));
  return isOne ? undefined : 'is no instruction to a relay that is refused';
};

const none: HeaderMatcher = () => false;

/**
 * Why a custom header is refused; undefined if it may stand in a message. `allows` matches the instructions to relays
 * that are allowed. `List-Unsubscribe`, `List-Id`, `References`, `In-Reply-To`, `Auto-Submitted` and every `X-` name in
 * neither list above are allowed.
 */
export const checkHeader = (name: string, value: string, allows: HeaderMatcher = none): string | undefined => {
  if (name === '') return 'the name is empty';
  if (name.length > defaultLimits.headerNameCharsMax) {
    return `the name is ${name.length} characters long; at most ${defaultLimits.headerNameCharsMax} are allowed`;
  }
  if (!FIELD_NAME.test(name))
    return 'the name holds a character that no header name has (letters, digits and hyphens are safe)';
  const lower = name.toLowerCase();
  if (isReserved(lower)) return `${name} is set by the service or would change how the message travels`;
  const instructed = relayFault(name, allows);
  if (instructed !== undefined) return instructed;
  const charsMax =
    idsIn(lower, value) === undefined ? defaultLimits.headerValueCharsMax : defaultLimits.referencesCharsMax;
  if (isLonger(value, charsMax))
    return `the value is ${charsOf(value)} characters long; at most ${charsMax} are allowed`;
  if (/[\r\n]/.test(value)) return 'the value holds a line break';
  if (/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(value)) return 'the value holds a control character';
  if (/\p{Surrogate}/u.test(value)) return 'the value holds half of a surrogate pair';
  const pieces = piecesOf(lower, value);
  if ('fault' in pieces) return pieces.fault;
  if (pieces.some((piece) => piece.length > LINE_CHARS_MAX - 1)) {
    return `the value has no space within ${LINE_CHARS_MAX - 1} characters, so that it cannot be folded`;
  }
  return undefined;
};

/** Why a field may not travel that instructs a relay; undefined for any other, and for one that is allowed. */
export const relayFault = (name: string, allows: HeaderMatcher = none): string | undefined => {
  const lower = name.toLowerCase();
  const commanded = allows(lower) ? undefined : relays.find(({ takes }) => takes(lower));
  return commanded === undefined
    ? undefined
    : `${name} is an instruction to a relay (${commanded.relay}), which would change how the message travels; use another name, or have it allowed (SEALPOST_ALLOWED_RELAY_HEADERS)`;
};

const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text);

/**
 * A field with free text, e.g. Subject. ASCII stays as it is. Other text, and ASCII that a reader would change (an
 * encoded word, outer spaces, a word too long to fold), becomes encoded words. Reading the field gives the same text.
 */
export const textField = (name: string, value: string): string => {
  const text = withoutControls(value);
  const readable =
    /^[\x20-\x7e]*$/.test(text) &&
    !text.includes('=?') &&
    text.trim() === text &&
    !text.includes('  ') &&
    (text.length + name.length + 2 <= LINE_CHARS_WANTED || longestWord(text) < LINE_CHARS_WANTED);
  return readable ? fold(name, text.split(' ')) : fold(name, encodedWords(text, name.length + 1));
};

/**
 * A custom field. A value that `checkHeader` refuses today may have been accepted earlier: then all of it is encoded.
 */
export const customField = (name: string, value: string): string => {
  const pieces = piecesOf(name.toLowerCase(), value);
  return fold(name, 'fault' in pieces ? encodedWords(withoutControls(value).trim(), name.length + 1) : pieces);
};

/** The field with text outside ASCII in encoded words, or why it has no such form. */
export const encodedField = (name: string, value: string): string | Readonly<{ fault: string }> => {
  const pieces = piecesOf(name.toLowerCase(), value);
  return 'fault' in pieces ? pieces : fold(name, pieces);
};

/**
 * In: a field name in lower case and a value. Out: the pieces between which the value may be folded. ASCII is never
 * encoded.
 */
const piecesOf = (lower: string, value: string): readonly string[] | Readonly<{ fault: string }> => {
  const text = withoutControls(value).trim();
  const ids = idsIn(lower, text);
  if (ids !== undefined) return lower === 'references' ? withoutMiddle(ids) : ids;
  if (isAscii(text)) return text.split(/ (?=[^ ])/);
  const syntax = syntaxOf(lower);
  if (syntax === undefined) return encodedWords(text, lower.length + 1);
  const encoded = withEncodedPhrases(syntax, text);
  if (typeof encoded === 'string') return encoded.split(/ (?=[^ ])/);
  // A field that only looks as if it held addresses may hold anything.
  return syntax === 'mailboxes' && !holdsMailboxes(lower) ? encodedWords(text, lower.length + 1) : encoded;
};

const isOfIds = (lower: string): boolean => lower === 'references' || lower === 'in-reply-to';

/** The ids of a field that consists of them. */
const idsIn = (lower: string, text: string): readonly string[] | undefined =>
  isOfIds(lower) && /^\s*(?:<[\x21-\x3b\x3d\x3f-\x7e]+>[\s,]*)+$/.test(text)
    ? (text.match(/<[^<>]+>/g) ?? undefined)
    : undefined;

/** The first id (it begins the thread) and as many of the last as the value may be long. */
const withoutMiddle = (ids: readonly string[]): readonly string[] => {
  const [first = '', ...others] = ids;
  let left = defaultLimits.headerValueCharsMax - first.length;
  let from = others.length;
  while (from > 0 && others[from - 1]!.length < left) left -= others[--from]!.length + 1;
  return [first, ...others.slice(from)];
};

/**
 * How a field is read that is no free text. `mailboxes`: names before addresses in angle brackets; `list-id`: a name
 * before an id; `keywords`: names; `bare`: ids, URLs or tokens. Encoded words may stand in names and comments only (RFC
 * 2047, section 5).
 */
type Syntax = 'mailboxes' | 'list-id' | 'keywords' | 'bare';

const isBare = matcherOf([
  ...['in-reply-to', 'references', 'original-message-id', 'supersedes', 'obsoletes'],
  ...['list-archive', 'list-help', 'list-owner', 'list-post', 'list-subscribe', 'list-unsubscribe*', 'archived-at'],
  ...[
    'auto-submitted',
    'feedback-id',
    'precedence',
    'priority',
    'sensitivity',
    'accept-language',
    'expires',
    'expiry-date',
    'reply-by',
  ],
  ...[
    'autocrypt',
    'bimi-*',
    'tls-required',
    'mt-priority',
    'require-recipient-valid-since',
    'disposition-notification-options',
  ],
]);

const holdsMailboxes = matcherOf([
  'disposition-notification-to',
  'return-receipt-to',
  'mail-followup-to',
  'mail-reply-to',
  'abuse-reports-to',
  'original-from',
]);

const syntaxOf = (lower: string): Syntax | undefined => {
  if (isBare(lower)) return 'bare';
  if (lower === 'list-id' || lower === 'keywords') return lower;
  return /(?:^|-)(?:to|from|cc|bcc|sender)$/.test(lower) ? 'mailboxes' : undefined;
};

/**
 * The parts of a value: a comment, something in angle brackets, a run of words and quoted strings, or one character
 * between them.
 */
const partsWith = (separators: string): RegExp =>
  new RegExp(String.raw`\((?:[^()\\]|\\.)*\)|<[^<>]*>|(?:"(?:[^"\\]|\\.)*"|[^"(<${separators}])+|[^]`, 'gu');
const valueParts: Readonly<Record<Syntax, RegExp>> = {
  mailboxes: partsWith(',;:'),
  'list-id': partsWith(''),
  keywords: partsWith(','),
  bare: partsWith(',;:'),
};

const withEncodedPhrases = (syntax: Syntax, text: string): string | Readonly<{ fault: string }> => {
  const parts = text.match(valueParts[syntax]) ?? [];
  let out = '';
  for (const [index, part] of parts.entries()) {
    if (isAscii(part)) {
      out += part;
    } else if (part.startsWith('(') && part.length > 1) {
      out += `(${encodedWords(unescaped(part.slice(1, -1))).join(' ')})`;
    } else if (part.startsWith('<')) {
      const address = syntax === 'mailboxes' ? parseAddress(part.slice(1, -1).trim()) : undefined;
      if (address?.ok !== true)
        return {
          fault: address === undefined ? NOT_ENCODABLE : `an address of the value is invalid: ${address.reason}`,
        };
      out += `<${address.address}>`;
    } else {
      const isName =
        syntax === 'list-id' ||
        syntax === 'keywords' ||
        (syntax === 'mailboxes' && /^[<:]/.test(parts[index + 1] ?? ''));
      if (!isName) return { fault: syntax === 'mailboxes' ? NO_ADDRESS : NOT_ENCODABLE };
      const name = part.replace(/"((?:[^"\\]|\\.)*)"/gu, (_, quoted: string) => unescaped(quoted)).trim();
      // An encoded word has a space on both sides.
      out += `${out === '' ? '' : ' '}${encodedWords(name).join(' ')} `;
    }
  }
  return out.replace(/ {2,}/g, ' ').trim();
};

const unescaped = (quoted: string): string => quoted.replace(/\\(.)/gu, '$1');

const NOT_ENCODABLE =
  'the value holds a character outside ASCII in an id, a URL or a token, where no encoding is allowed; a URL takes it percent-encoded';
const NO_ADDRESS =
  'the value holds a character outside ASCII in what is no name before an address in angle brackets; a name with a comma stands in quotes';

const longestWord = (text: string): number => text.split(' ').reduce((max, word) => Math.max(max, word.length), 0);

/**
 * In: the pieces of a value; lines may be broken between them. Out: the whole field with its CRLF. No line is longer
 * than 76 characters unless a single piece is.
 */
export const fold = (name: string, pieces: readonly string[]): string => {
  let out = `${name}:`;
  let lineChars = out.length;
  for (const piece of pieces) {
    // The first piece stays on the line of the name if the hard limit allows: some readers take a bare "Name:" for an
    // empty field.
    const fits = lineChars + 1 + piece.length <= LINE_CHARS_WANTED;
    if (
      fits ||
      (lineChars === name.length + 1 &&
        lineChars + 1 + piece.length <= LINE_CHARS_MAX &&
        piece.length >= LINE_CHARS_WANTED)
    ) {
      out += ` ${piece}`;
      lineChars += 1 + piece.length;
    } else {
      out += `\r\n ${piece}`;
      lineChars = 1 + piece.length;
    }
  }
  return `${out}\r\n`;
};

export type NamedAddress = Readonly<{ address: string; name?: string | undefined }>;

/**
 * A field with addresses, e.g. To. Addresses come from parseAddress; any other is a fault of the program and throws.
 */
export const addressField = (name: string, addresses: readonly NamedAddress[]): string => {
  const pieces: string[] = [];
  addresses.forEach((one, index) => {
    const separator = index < addresses.length - 1 ? ',' : '';
    if (!/^[\x20-\x7e]+$/.test(one.address) || /[<>]/.test(one.address))
      throw new Error('an address that was not parsed reached the message');
    const displayName = withoutControls(one.name ?? '').trim();
    if (displayName === '') {
      pieces.push(one.address.startsWith('"') ? `<${one.address}>${separator}` : `${one.address}${separator}`);
    } else {
      pieces.push(...phrase(displayName), `<${one.address}>${separator}`);
    }
  });
  return fold(name, pieces);
};

const ATOMS = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?: [A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
/** A quoted string of this length fits one line with its comma. */
const QUOTED_CHARS_MAX = 74;

/** A display name as a phrase (RFC 5322, section 3.2.5): atoms, a quoted string, or encoded words. */
const phrase = (name: string): readonly string[] => {
  if (name.length <= QUOTED_CHARS_MAX && !name.includes('=?')) {
    if (ATOMS.test(name)) return name.split(' ');
    const quoted = `"${name.replace(/["\\]/g, '\\$&')}"`;
    if (/^[\x20-\x7e]+$/.test(name) && quoted.length <= QUOTED_CHARS_MAX) return [quoted];
  }
  return encodedWords(name);
};
