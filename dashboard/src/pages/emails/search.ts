/**
 * The filters of the list of emails in their three forms: parameters of the address, words of the search box such as
 * `to:kim@example.com status:failed`, and the query of the API.
 */
import type { ListEmailsData } from '#api';

export const statuses = [
  'queued',
  'scheduled',
  'processing',
  'sent',
  'delivered',
  'failed',
  'bounced',
  'complained',
  'cancelled',
] as const;
export type Status = (typeof statuses)[number];

/** Names of the words, which the address has too. `q` is the text without a word before it. */
export const words = [
  'to',
  'from',
  'status',
  'copy',
  'tag',
  'template',
  'batch',
  'by',
  'after',
  'before',
  'test',
  'meta',
] as const;
type Word = (typeof words)[number];

export type EmailSearch = Partial<Record<Word | 'q', string>>;

/** Examples and meanings of the words, for the help box. */
export const help: readonly Readonly<{ word: Word; example: string; text: string }>[] = [
  { word: 'to', example: 'to:kim@example.com', text: 'whole address of a recipient' },
  { word: 'from', example: 'from:shop.example', text: 'domain of the sender' },
  { word: 'status', example: 'status:failed,bounced', text: statuses.join(', ') },
  { word: 'copy', example: 'copy:bounced', text: 'status of one recipient, whatever that of the email' },
  { word: 'tag', example: 'tag:invoice', text: 'a whole tag' },
  { word: 'template', example: 'template:invoice', text: 'slug or id of a template; inline or smtp without one' },
  { word: 'batch', example: 'batch:01a1fcea-…', text: 'id of a bulk send' },
  { word: 'by', example: 'by:key_15bf…', text: 'id of the API key, or user:<id>' },
  { word: 'after', example: 'after:2026-11-01', text: 'accepted on that day (UTC) or later' },
  { word: 'before', example: 'before:2026-11-30', text: 'accepted on that day (UTC) or earlier' },
  { word: 'test', example: 'test:yes', text: 'sent with a test key; test:no leaves these out' },
  { word: 'meta', example: 'meta:orderId=4711', text: 'a value of its metadata; meta:orderId for any value' },
];

const isWord = (text: string): text is Word => (words as readonly string[]).includes(text);

export const isStatus = (text: string): text is Status => (statuses as readonly string[]).includes(text);

/** In: the parameters of an address. Out: those that are filters. */
export const emailSearchOf = (search: Readonly<Record<string, unknown>>): EmailSearch => {
  const found: EmailSearch = {};
  for (const name of [...words, 'q'] as const) {
    const value = search[name];
    if (typeof value === 'string' && value !== '') found[name] = value;
  }
  return found;
};

/** A word with its value, which stands in quotes where it has blanks; or a piece of text. */
const PIECE = /(?:([a-z]+):)?(?:"([^"]*)"|(\S+))/gi;

/** In: what stands in the search box. The last value of a word counts. */
export const parseSearch = (text: string): EmailSearch => {
  const found: EmailSearch = {};
  const free: string[] = [];
  for (const [whole, before, quoted, plain] of text.matchAll(PIECE)) {
    const value = quoted ?? plain ?? '';
    const word = before?.toLowerCase();
    if (word !== undefined && isWord(word)) {
      if (value !== '') found[word] = value;
    } else free.push(word === undefined ? value : whole);
  }
  const q = free.join(' ').trim();
  return q === '' ? found : { ...found, q };
};

/** The words of the filters, as somebody would type them; `status` is left to the tabs where it is one of theirs. */
export const formatSearch = (search: EmailSearch): string =>
  [
    ...words.flatMap((word) => {
      const value = search[word];
      return value === undefined ? [] : [`${word}:${/\s/.test(value) ? `"${value}"` : value}`];
    }),
    ...(search.q === undefined ? [] : [search.q]),
  ].join(' ');

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The ids of templates have this form, too. */
const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/i;
const DAY = /^\d{4}-\d{2}-\d{2}(?:T\S+)?$/;
const copyStatuses = ['queued', 'sent', 'delivered', 'bounced', 'failed', 'cancelled', 'suppressed', 'complained'];

/** The first fault of the filters, in words; undefined: the API takes them. */
export const faultOf = (search: EmailSearch): string | undefined => {
  const { to, status, copy, template, batch, after, before, test, q } = search;
  if (to !== undefined && !to.includes('@'))
    return `to: takes a whole address. To find a part of one, type only ${to}.`;
  const unknown = status?.split(',').find((one) => !isStatus(one));
  if (unknown !== undefined) return `There is no status ${unknown}. There are ${statuses.join(', ')}.`;
  if (copy !== undefined && !copyStatuses.includes(copy)) return `copy: takes one of ${copyStatuses.join(', ')}.`;
  if (template !== undefined && !SLUG.test(template))
    return 'template: takes the slug or id of a template, or inline or smtp.';
  if (batch !== undefined && !UUID.test(batch)) return 'batch: takes the id of a bulk send.';
  for (const [name, day] of [
    ['after', after],
    ['before', before],
  ] as const)
    if (day !== undefined && (!DAY.test(day) || Number.isNaN(Date.parse(day))))
      return `${name}: takes a day such as 2026-11-30.`;
  if (test !== undefined && test !== 'yes' && test !== 'no') return 'test: takes yes or no.';
  if (q !== undefined && [...q].length < 2 && !/\p{Script=Han}|\p{Script=Kana}|\p{Script=Hangul}/u.test(q))
    return 'A search needs at least two characters.';
  return undefined;
};

type Query = NonNullable<ListEmailsData['query']>;

/** In: filters without a fault. Out: the query of the list and of its counts. */
export const queryOf = (search: EmailSearch): Query => {
  const { to, from, status, copy, tag, template, batch, by, after, before, test, meta, q } = search;
  const [key = '', value] = meta?.split(/=(.*)/s, 2) ?? [];
  const query: Query = {};
  if (to !== undefined) query.recipient = to;
  if (from !== undefined) query.senderDomain = from.slice(from.indexOf('@') + 1);
  if (status !== undefined) query.status = status.split(',').filter(isStatus);
  if (copy !== undefined) query.recipientStatus = copy as NonNullable<Query['recipientStatus']>;
  if (tag !== undefined) query.tag = tag;
  if (template !== undefined) query.templateId = template.toLowerCase();
  if (batch !== undefined) query.batchId = batch;
  if (by !== undefined) query.createdBy = by;
  if (after !== undefined) query.startDate = after;
  if (before !== undefined) query.endDate = before;
  if (test !== undefined) query.test = test === 'yes';
  if (key !== '' && value === undefined) query.metadataKey = key;
  if (key !== '' && value !== undefined) query.metadata = { [key]: value };
  if (q !== undefined) query.search = q;
  return query;
};
