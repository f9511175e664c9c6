/** What of an email is searched: a text of its subject, addresses and names, and terms of what it is filtered by exactly. */
import { domainToASCII, domainToUnicode } from 'node:url';
import type { EmailEnvelope } from '../../domain/email/events.js';
import { defaultLimits as limits } from '../../domain/core/limits.js';
import type { Recipient } from '../../domain/mime/recipient.js';
import { foldForSearch } from '../../domain/core/search-text.js';

/** Folded, line by line. An international domain stands there in both its forms. */
export const emailText = ({ subject, recipients }: EmailEnvelope): string => {
  let text = foldForSearch(subject);
  for (const recipient of recipients) if (recipient !== null) text += `\n${linesOf(recipient)}`;
  return text;
};

/** In the form in which terms have it, the address begins the first line. */
const linesOf = ({ email, name }: Recipient): string => {
  const address = foldForSearch(email);
  const line = name === undefined ? address : `${address} ${foldForSearch(name)}`;
  const other = inOtherForm(email);
  return other === undefined ? line : `${line}\n${foldForSearch(other)}`;
};

/** What of the text belongs to a recipient: how many lines, and how many characters of the first are the address. */
export type RecipientText = readonly [lines: number, addressChars: number];

const NOTHING: RecipientText = [0, 0];

export const recipientTexts = ({ recipients }: EmailEnvelope): RecipientText[] =>
  recipients.map((recipient) =>
    recipient === null ? NOTHING : [inOtherForm(recipient.email) === undefined ? 1 : 2, foldForSearch(recipient.email).length],
  );

type Searched = Readonly<{ text: string; terms: readonly string[]; texts: readonly RecipientText[] }>;

/** What is left of it without those recipients: what it would be if they had no address from the beginning. */
export const withoutRecipients = ({ text, terms, texts }: Searched, erased: readonly number[]): Searched => {
  const [subject = '', ...lines] = text.split('\n');
  const before = new Set<string>();
  const kept = new Set<string>();
  const left = [subject];
  let from = 0;
  for (const [index, [count, addressChars]] of texts.entries()) {
    const own = lines.slice(from, (from += count));
    if (own[0] === undefined) continue;
    const term = recipientTerm(own[0].slice(0, addressChars));
    before.add(term);
    if (erased.includes(index)) continue;
    kept.add(term);
    left.push(...own);
  }
  return {
    text: left.join('\n'),
    terms: [...kept, ...terms.slice(before.size)],
    texts: texts.map((one, index) => (erased.includes(index) ? NOTHING : one)),
  };
};

/** The same text where the email has another subject. */
export const withSubject = (text: string, before: string, after: string): string =>
  foldForSearch(after) + text.slice(foldForSearch(before).length);

const ASCII = /^[\x00-\x7f]*$/;

/** The address with its domain in Unicode where it is in ASCII, and the other way round; undefined where both are the same. */
const inOtherForm = (email: string): string | undefined => {
  const at = email.lastIndexOf('@') + 1;
  const domain = email.slice(at);
  const other = ASCII.test(domain) ? (domain.includes('xn--') ? domainToUnicode(domain) : domain) : domainToASCII(domain);
  return other === '' || other === domain ? undefined : email.slice(0, at) + other;
};

/** Of the metadata the first keys are found, each by itself and with its value where that is a text, a number or a truth value. */
export const emailTerms = ({ recipients, metadata = {} }: EmailEnvelope, tags: readonly string[]): string[] => {
  const terms = new Set<string>();
  for (const recipient of recipients) if (recipient !== null) terms.add(recipientTerm(recipient.email));
  for (const tag of tags) terms.add(tagTerm(tag));
  let keys = 0;
  for (const [key, value] of Object.entries(metadata)) {
    if (key.length > limits.metadataKeyFoundCharsMax) continue;
    if ((keys += 1) > limits.metadataKeysFoundMax) break;
    terms.add(metadataTerm(key));
    const text = typeof value === 'object' ? undefined : String(value);
    if (text !== undefined && text.length <= limits.metadataValueFoundCharsMax) terms.add(metadataTerm(key, text));
  }
  return [...terms];
};

/** In: an address in the form in which emails have it. Letter case does not count. */
export const recipientTerm = (address: string): string => `recipient:${foldForSearch(address)}`;
export const tagTerm = (tag: string): string => `tag:${tag}`;
/** In: what `tagTerm` has made. */
export const tagOfTerm = (term: string): string => term.slice('tag:'.length);
/** As JSON, which has no control characters; so a key never runs into its value. */
export const metadataTerm = (key: string, value?: string): string =>
  value === undefined ? `key:${JSON.stringify(key)}` : `value:${JSON.stringify([key, value])}`;
