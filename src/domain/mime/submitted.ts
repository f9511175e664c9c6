/**
 * Reads a message that a program hands over by SMTP: refuses what may not travel, takes out what is meant for the
 * service, and keeps the rest as it came.
 */
import { isAscii } from 'node:buffer';
import { DomainError, type FieldError } from '../core/errors.js';
import type { Limits } from '../core/limits.js';
import { nearest, nameFault, firstChars, headerLine } from '../../shared/text.js';
import { invalidAddresses, parseAddress, type Recipient } from './address.js';
import { encodedField, relayFault, type HeaderMatcher } from './header.js';
import {
  bodyStartOf,
  type CarriedFile,
  decodedWords,
  fieldsOf,
  filesOf,
  inUtf8,
  partsOf,
  valueOf,
  type Field,
  type MessagePart,
} from './read.js';

/** The `X-Sealpost-…` fields of a message; each stands for a field of the send call. */
export type Instructions = Readonly<{
  template?: string;
  variables?: Readonly<Record<string, unknown>>;
  tags?: readonly string[];
  metadata?: Readonly<Record<string, unknown>>;
  scheduledAt?: string;
  tracking?: Readonly<{ opens: boolean; clicks: boolean }>;
  unsubscribeList?: string;
}>;

export type RoledRecipient = Recipient &
  Readonly<{
    role: 'to' | 'cc' | 'bcc';
    /** The address as the fields To and Cc write it, in their order. */
    written: readonly string[];
  }>;

export type SubmittedMessage = Readonly<{
  instructions: Instructions;
  from: Recipient;
  /** The field Sender, where it names another mailbox. */
  sender: string | undefined;
  replyTo: readonly Recipient[];
  subject: string;
  /** undefined where the message has none. */
  messageId: string | undefined;
  /** Those of the envelope: first the ones that To names, then those of Cc, then all others. */
  recipients: readonly RoledRecipient[];
  /**
   * The fields in ASCII with CRLF line ends, without the empty line behind them. `\0<place>\0` stands for what a
   * recipient's `written` holds next.
   */
  head: string;
  hasDate: boolean;
  ownsUnsubscribing: boolean;
  body: Buffer;
  raw: Buffer;
  whole: MessagePart;
  files: readonly CarriedFile[];
}>;

/** RFC 5321, section 4.5.3.1.6, without the line end. */
const LINE_OCTETS_MAX = 998;
const HEAD_BYTES_MAX = 128 * 1024;
const FIELDS_MAX = 500;
const RECEIVED_MAX = 100;
const FILES_TOLD_MAX = 100;
const JSON_DEPTH_MAX = 64;

const CR = 0x0d;
const LF = 0x0a;

/** Fields that may stand once (RFC 5322, section 3.6; RFC 2045, section 3). Readers differ in which of several they show. */
const ONCE = new Set([
  ...['from', 'sender', 'reply-to', 'to', 'cc', 'subject', 'date', 'message-id', 'in-reply-to', 'references'],
  ...['mime-version', 'content-type', 'content-transfer-encoding', 'content-disposition'],
]);
/** Fields that do not leave: readers would see hidden recipients, or trace of a way that the message has not gone. */
const TAKEN_OUT = new Set(['bcc', 'resent-bcc', 'return-path']);

const PREFIX = 'x-sealpost-';
const instructionNames = [
  'Template',
  'Variables',
  'Tags',
  'Metadata',
  'Schedule',
  'Track',
  'Unsubscribe-List',
] as const;
type InstructionName = (typeof instructionNames)[number];

const refused = (errors: readonly FieldError[]): DomainError =>
  new DomainError('VALIDATION_ERROR', errors.map(({ field, message }) => `${field} ${message}`).join('; '), { errors });

const refuse = (field: string, message: string): never => {
  throw refused([{ field, message }]);
};

/**
 * Throws VALIDATION_ERROR for bytes that may not travel: NUL, a line end that is not CRLF, a line that is too long. A
 * server that takes a bare CR or LF for a line end could be made to end the message there and begin another.
 */
const assertTravels = (raw: Buffer): void => {
  let lines = 1;
  let start = 0;
  for (let at = 0; at < raw.length; at += 1) {
    const byte = raw[at]!;
    if (byte > CR) continue;
    if (byte === 0) refuse('The message', 'holds a NUL byte; encode such content with base64');
    if (byte === LF) refuse('The message', `ends line ${lines} with a bare LF; end lines with CRLF`);
    if (byte !== CR) continue;
    if (raw[at + 1] !== LF) refuse('The message', 'holds a bare CR; end lines with CRLF');
    if (at - start > LINE_OCTETS_MAX) tooLong(lines, at - start);
    at += 1;
    start = at + 1;
    lines += 1;
  }
  if (raw.length - start > LINE_OCTETS_MAX) tooLong(lines, raw.length - start);
};

const tooLong = (line: number, octets: number): never =>
  refuse(
    'The message',
    `has ${octets} octets in line ${line}; at most ${LINE_OCTETS_MAX} are allowed: fold a field, and encode a body with quoted-printable or base64`,
  );

/**
 * In: the bytes between DATA and its end, and the addresses that RCPT gave, in their normal form. Throws
 * VALIDATION_ERROR and ERR_EMAIL_001.
 */
export const readSubmitted = (
  raw: Buffer,
  to: readonly string[],
  { limits, allowsHeader }: Readonly<{ limits: Limits; allowsHeader?: HeaderMatcher | undefined }>,
): SubmittedMessage => {
  assertTravels(raw);
  const bodyStart = bodyStartOf(raw);
  if (bodyStart > HEAD_BYTES_MAX)
    refuse('The header section', `has ${bodyStart} bytes; at most ${HEAD_BYTES_MAX} are allowed`);
  const given = fieldsOf(raw.toString('latin1', 0, bodyStart).replace(/(?:\r\n)+$/, ''));
  assertFields(given, allowsHeader);
  const whole = partsOf(raw, given);
  const instructions = instructionsIn(given, limits);
  const kept = given.filter(({ lower }) => !TAKEN_OUT.has(lower) && !lower.startsWith(PREFIX)).map(inAscii);
  const find = (lower: string): Field | undefined => kept.find((field) => field.lower === lower);
  const from = writerOf(find('from'), 'From');
  const senderField = find('sender');
  const sender = senderField && writerOf(senderField, 'Sender').email;
  const messageId = valueOf(find('message-id') ?? { lower: '', text: '' });
  if (messageId.length > LINE_OCTETS_MAX)
    refuse('The field Message-ID', `has ${messageId.length} characters; at most ${LINE_OCTETS_MAX} are allowed`);
  const { head, recipients } = withPlaces(kept, to);
  return {
    instructions,
    from,
    sender: sender === from.email ? undefined : sender,
    replyTo: mailboxesIn(find('reply-to')).slice(0, limits.replyToMax),
    subject: firstChars(headerLine(textOf(find('subject'))), limits.subjectCharsMax),
    messageId: messageId === '' ? undefined : messageId,
    recipients,
    head,
    hasDate: find('date') !== undefined,
    ownsUnsubscribing: find('list-unsubscribe') !== undefined || find('list-unsubscribe-post') !== undefined,
    body: raw.subarray(bodyStart),
    raw,
    whole,
    files: filesOf(raw, whole, FILES_TOLD_MAX),
  };
};

const assertFields = (fields: readonly Field[], allowsHeader: HeaderMatcher | undefined): void => {
  if (fields.length > FIELDS_MAX)
    refuse('The header section', `has ${fields.length} fields; at most ${FIELDS_MAX} are allowed`);
  const seen = new Map<string, number>();
  for (const [index, { lower }] of fields.entries()) {
    if (lower === '')
      refuse('The header section', `has a line that is no field, in place ${index + 1}; write \`Name: value\``);
    seen.set(lower, (seen.get(lower) ?? 0) + 1);
  }
  for (const [lower, count] of seen) {
    if (count > 1 && ONCE.has(lower)) refuse(`The field ${lower}`, `stands ${count} times; give it once`);
    const fault = relayFault(lower, allowsHeader);
    if (fault !== undefined) refuse('The field', fault);
  }
  if ((seen.get('received') ?? 0) > RECEIVED_MAX)
    refuse('The message', `has passed more than ${RECEIVED_MAX} hosts, so it is likely sent in a circle`);
};

/** The field with text outside ASCII in encoded words: few hosts take it as it is (RFC 6532). */
const inAscii = (field: Field): Field => {
  if (/^[\x00-\x7f]*$/.test(field.text)) return field;
  const name = field.text.slice(0, field.text.indexOf(':')).trimEnd();
  const value = inUtf8(valueOf(field));
  if (value === undefined || field.lower.startsWith('content-'))
    return refuse(`The field ${name}`, 'holds bytes outside ASCII; encode them as RFC 2047 and RFC 2231 say');
  const encoded = encodedField(name, value);
  if (typeof encoded !== 'string') return refuse(`The field ${name}`, `cannot be encoded: ${encoded.fault}`);
  return { lower: field.lower, text: encoded.slice(0, -2) };
};

const textOf = (field: Field | undefined): string => (field === undefined ? '' : decodedWords(valueOf(field)).trim());

/** A mailbox of a field as it is written, by its place in the text. `isOdd`: readers may take another address for it. */
type Written = Readonly<{ start: number; end: number; name: string | undefined; address: string; isOdd: boolean }>;

/** A part of a field between commas. `opens` and `closes`: its last angle brackets outside quotes and comments. */
type Member = { start: number; end: number; opens: number; closes: number; isOdd: boolean };

const memberFrom = (start: number): Member => ({ start, end: start, opens: -1, closes: -1, isOdd: false });

/** The members of an address list (RFC 5322, section 3.4): what stands between commas, and the ends of groups. */
const membersOf = (text: string, from: number): readonly Written[] => {
  const members: Written[] = [];
  let member = memberFrom(from);
  let comments = 0;
  let isQuoted = false;
  const add = (end: number): void => {
    const written = writtenAt(text, { ...member, end });
    if (written !== undefined) members.push(written);
    member = memberFrom(end + 1);
  };
  for (let at = from; at < text.length; at += 1) {
    const character = text[at]!;
    const isAngled = member.opens > member.closes;
    if (character === '\\' && (isQuoted || comments > 0)) at += 1;
    else if (isQuoted) isQuoted = character !== '"';
    else if (character === '(') comments += 1;
    else if (character === ')') comments = Math.max(0, comments - 1);
    else if (comments > 0) continue;
    else if (character === '"') isQuoted = true;
    else if (character === '<') {
      member.isOdd ||= member.opens >= 0;
      member.opens = at;
    } else if (character === '>') member.closes = at;
    else if (character === ':' && !isAngled) member = memberFrom(at + 1);
    else if ((character === ',' || character === ';') && !isAngled) add(at);
  }
  member.isOdd ||= isQuoted || comments > 0 || member.opens > member.closes;
  add(text.length);
  return members;
};

const writtenAt = (text: string, { start: from, end: to, opens, closes, isOdd }: Member): Written | undefined => {
  let [start, end] = [from, to];
  while (start < end && /\s/.test(text[start]!)) start += 1;
  while (end > start && /\s/.test(text[end - 1]!)) end -= 1;
  if (start === end) return undefined;
  const between = (first: number, last: number): string => text.slice(first, last).replaceAll('\r\n', '');
  if (opens < 0) return { start, end, name: undefined, address: withoutComments(between(start, end)).trim(), isOdd };
  const close = closes < opens ? end : closes;
  const name = decodedWords(
    between(start, opens)
      .trim()
      .replace(/^"((?:[^"\\]|\\.)*)"$/s, '$1')
      .replace(/\\(.)/g, '$1'),
  );
  const rest = withoutComments(between(close + 1, end)).trim();
  return { start, end, name, address: between(opens + 1, close).trim(), isOdd: isOdd || rest !== '' };
};

const withoutComments = (text: string): string => {
  let out = '';
  let comments = 0;
  for (const character of text) {
    if (character === '(') comments += 1;
    else if (character === ')' && comments > 0) comments -= 1;
    else if (comments === 0) out += character;
  }
  return out;
};

const named = ({ name }: Pick<Written, 'name'>, email: string): Recipient => {
  const shown = name === undefined ? '' : firstChars(headerLine(name).trim(), 320);
  return shown === '' || nameFault(shown) !== undefined ? { email } : { email, name: shown };
};

/** The mailboxes of a field that can be read. */
const mailboxesIn = (field: Field | undefined): readonly Recipient[] =>
  field === undefined
    ? []
    : membersOf(field.text, field.text.indexOf(':') + 1).flatMap((member) => {
        const parsed = parseAddress(member.address);
        return parsed.ok ? [named(member, parsed.address)] : [];
      });

/** The one mailbox of a field that says who writes. Throws where readers could show another one. */
const writerOf = (field: Field | undefined, name: 'From' | 'Sender'): Recipient => {
  const text = field?.text ?? '';
  const start = text.indexOf(':') + 1;
  const members = membersOf(text, start);
  const [only] = members;
  if (only === undefined || members.length > 1)
    return refuse(
      `The field ${name}`,
      `names ${members.length === 0 ? 'nobody' : `${members.length} mailboxes`}; name one`,
    );
  if (only.isOdd || `${text.slice(start, only.start)}${text.slice(only.end)}`.trim() !== '')
    return refuse(`The field ${name}`, 'can be read in several ways; write `Name <address>` and nothing else');
  const parsed = parseAddress(only.address);
  if (!parsed.ok) throw invalidAddresses([{ field: `The field ${name}`, message: parsed.reason }]);
  return named(only, parsed.address);
};

/** The roles of the recipients, and the fields in which a place stands for each address of one. */
const withPlaces = (
  fields: readonly Field[],
  to: readonly string[],
): Readonly<{ head: string; recipients: readonly RoledRecipient[] }> => {
  type Found = { role: RoledRecipient['role']; name: string | undefined; written: string[] };
  const unique = [...new Map(to.map((email) => [email.toLowerCase(), email])).values()];
  const found = new Map<string, Found>(
    unique.map((email) => [email.toLowerCase(), { role: 'bcc', name: undefined, written: [] }]),
  );
  const lists = fields.map(({ lower, text }) => {
    if (lower !== 'to' && lower !== 'cc') return [];
    return membersOf(text, text.indexOf(':') + 1).flatMap((member) => {
      const parsed = parseAddress(member.address);
      const one = parsed.ok ? found.get(parsed.address.toLowerCase()) : undefined;
      if (one === undefined) return [];
      if (one.role !== 'to') one.role = lower;
      one.name ??= named(member, '').name;
      return [{ member, one }];
    });
  });
  const all = unique.map((email) => ({ email, ...found.get(email.toLowerCase())! }));
  const recipients = (['to', 'cc', 'bcc'] as const).flatMap((role) => all.filter((one) => one.role === role));
  const places = new Map(recipients.map(({ email }, place) => [found.get(email.toLowerCase())!, place]));
  const lines = fields.map(({ text }, index) => {
    let out = '';
    let at = 0;
    for (const { member, one } of lists[index]!) {
      one.written.push(text.slice(member.start, member.end));
      out += `${text.slice(at, member.start)}\0${places.get(one)!}\0`;
      at = member.end;
    }
    return `${out}${text.slice(at)}\r\n`;
  });
  return {
    head: lines.join(''),
    recipients: recipients.map(({ email, name, role, written }) => ({
      email,
      ...(name !== undefined && { name }),
      role,
      written,
    })),
  };
};

/**
 * The fields with the addresses in their places again; `written` is undefined for a recipient whose data is destroyed,
 * and a field that named nobody else is left out.
 */
export const filledHead = (head: string, written: readonly (readonly string[] | undefined)[]): string => {
  if (!head.includes('\0')) return head;
  const taken = written.map(() => 0);
  const lines = fieldsOf(head.replace(/\r\n$/, '')).map(({ text }) => {
    let isShort = false;
    const without = text.replace(/\0(\d+)\0/g, (place, index: string) => {
      isShort ||= written[Number(index)] === undefined;
      return written[Number(index)] === undefined ? '' : place;
    });
    const left = isShort ? tidied(without) : without;
    return left?.replace(/\0(\d+)\0/g, (_, index: string) => written[Number(index)]![taken[Number(index)]!++] ?? '');
  });
  return lines.map((line) => (line === undefined ? '' : `${line}\r\n`)).join('');
};

/** A list without its empty members; undefined where nothing is left. */
const tidied = (text: string): string | undefined => {
  const colon = text.indexOf(':') + 1;
  const members = text
    .slice(colon)
    .split(',')
    .filter((member) => member.trim() !== '');
  return members.length === 0 ? undefined : `${text.slice(0, colon)} ${members.join(',').trimStart()}`;
};

/** Throws VALIDATION_ERROR with every fault of the fields for the service. */
const instructionsIn = (fields: readonly Field[], limits: Limits): Instructions => {
  const values = new Map<InstructionName, string[]>();
  const faults: FieldError[] = [];
  for (const field of fields) {
    if (!field.lower.startsWith(PREFIX)) continue;
    const rest = field.lower.slice(PREFIX.length);
    const name = instructionNames.find((one) => one.toLowerCase() === rest);
    const value = inUtf8(valueOf(field));
    if (name === undefined) {
      const meant = nearest(
        rest,
        instructionNames.map((one) => one.toLowerCase()),
      );
      const known =
        meant === undefined
          ? `the known ones end with ${instructionNames.join(', ')}`
          : `did you mean X-Sealpost-${meant}`;
      faults.push({ field: field.text.slice(0, 60).split(':')[0]!, message: `is unknown; ${known}` });
    } else if (value === undefined) {
      faults.push({ field: `X-Sealpost-${name}`, message: 'holds bytes that are no UTF-8' });
    } else values.set(name, [...(values.get(name) ?? []), decodedWords(value).trim()]);
  }
  for (const [name, list] of values)
    if (list.length > 1 && name !== 'Tags')
      faults.push({ field: `X-Sealpost-${name}`, message: `stands ${list.length} times; give it once` });
  const out: { -readonly [Name in keyof Instructions]: Instructions[Name] } = {};
  const read = <Value>(name: InstructionName, reader: (text: string) => Value | Fault): Value | undefined => {
    const list = values.get(name);
    if (list === undefined) return undefined;
    const value = reader(list.join(','));
    if (!(value instanceof Fault)) return value;
    faults.push({ field: `X-Sealpost-${name}`, message: value.says });
    return undefined;
  };
  const put = <Name extends keyof Instructions>(name: Name, value: Instructions[Name]): void => {
    if (value !== undefined) out[name] = value;
  };
  put(
    'template',
    read('Template', (text) => templateIn(text, limits)),
  );
  put(
    'variables',
    read('Variables', (text) => objectIn(text, limits.variableNamesMax)),
  );
  put(
    'tags',
    read('Tags', (text) => tagsIn(text, limits)),
  );
  put(
    'metadata',
    read('Metadata', (text) => objectIn(text, limits.variableNamesMax)),
  );
  put(
    'scheduledAt',
    read('Schedule', (text) => text),
  );
  put('tracking', read('Track', trackingIn));
  put(
    'unsubscribeList',
    read('Unsubscribe-List', (text) => listIn(text, limits)),
  );
  if (out.variables !== undefined && out.template === undefined && !values.has('Template'))
    faults.push({
      field: 'X-Sealpost-Variables',
      message: 'stands without X-Sealpost-Template, whose variables it gives',
    });
  if (out.template !== undefined && out.unsubscribeList !== undefined)
    faults.push({
      field: 'X-Sealpost-Unsubscribe-List',
      message: 'stands beside X-Sealpost-Template, which names its list itself',
    });
  if (faults.length > 0) throw refused(faults);
  return out;
};

/** Why a value cannot be taken. */
class Fault {
  readonly says: string;
  constructor(says: string) {
    this.says = says;
  }
}

const templateIn = (text: string, { templateSlugCharsMax: max }: Limits): string | Fault =>
  text === '' || text.length > max
    ? new Fault(`must be the slug or the UUID of a template, of at most ${max} characters`)
    : text;

const tagsIn = (text: string, { tagsMax, tagCharsMax }: Limits): readonly string[] | Fault => {
  const tags = [...new Set(text.split(',').map((tag) => tag.trim()))].filter((tag) => tag !== '');
  if (tags.length > tagsMax) return new Fault(`holds ${tags.length} tags; at most ${tagsMax} are allowed`);
  const bad = tags.find((tag) => tag.length > tagCharsMax || !/^[A-Za-z0-9_-]+$/.test(tag));
  return bad === undefined
    ? tags
    : new Fault(
        `must hold tags of letters, digits, _ and -, with commas between them, each of at most ${tagCharsMax} characters`,
      );
};

const listIn = (text: string, { templateSlugCharsMax: max }: Limits): string | Fault =>
  text.length <= max && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(text)
    ? text
    : new Fault(`must be the name of a list, such as product-news, of at most ${max} characters`);

const trackingIn = (text: string): Readonly<{ opens: boolean; clicks: boolean }> | Fault => {
  const words = text
    .toLowerCase()
    .split(',')
    .map((word) => word.trim());
  if (words.length === 1 && words[0] === 'none') return { opens: false, clicks: false };
  if (!words.every((word) => word === 'opens' || word === 'clicks'))
    return new Fault('must be `opens`, `clicks`, `opens, clicks` or `none`');
  return { opens: words.includes('opens'), clicks: words.includes('clicks') };
};

const objectIn = (text: string, membersMax: number): Readonly<Record<string, unknown>> | Fault => {
  const wrong = new Fault('must be a JSON object, such as {"name": "Ann"}');
  if (depthOf(text) > JSON_DEPTH_MAX) return new Fault(`nests deeper than ${JSON_DEPTH_MAX}`);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong;
    if (Object.keys(value).length > membersMax) return new Fault(`has more than ${membersMax} members`);
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, member as unknown]));
  } catch {
    return wrong;
  }
};

/** How deep arrays and objects of a JSON text nest. */
const depthOf = (text: string): number => {
  let [depth, deepest, isQuoted] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (isQuoted) {
      if (character === '\\') at += 1;
      else isQuoted = character !== '"';
    } else if (character === '"') isQuoted = true;
    else if (character === '{' || character === '[') deepest = Math.max(deepest, (depth += 1));
    else if (character === '}' || character === ']') depth -= 1;
  }
  return deepest;
};

/** Whether a message needs 8BITMIME on its way (RFC 6152). */
export const needs8Bit = (raw: Buffer): boolean => !isAscii(raw);
