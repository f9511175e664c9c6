/** What of an email is searched: a text of its subject, addresses and names, and terms of what it is filtered by exactly. */
import { domainToASCII, domainToUnicode } from 'node:url';
import type { EmailEnvelope } from '../domain/email/events.js';
import { defaultLimits as limits } from '../domain/limits.js';
import { foldForSearch } from '../domain/search-text.js';

/** Folded, line by line. An international domain stands there in both its forms. */
export const emailText = ({ subject, recipients }: EmailEnvelope): string => {
  let text = foldForSearch(subject);
  for (const { email, name } of recipients) {
    text += `\n${foldForSearch(name === undefined ? email : `${email} ${name}`)}`;
    const other = inOtherForm(email);
    if (other !== undefined) text += `\n${foldForSearch(other)}`;
  }
  return text;
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
  for (const { email } of recipients) terms.add(recipientTerm(email));
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
