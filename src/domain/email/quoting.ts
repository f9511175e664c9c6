/** What a host says to one recipient is kept without the addresses of the others, which would outlive their erasure, and without links that let somebody in. */
import type { Email } from './state.js';

const OMITTED = '…';

/** A link, what it carries, or anything as long as that. */
const SECRETS = /(?:https?:\/\/|token=)\S+|[\w-]{43,}/gi;

/** `recipient`: to whom the text belongs, by the place in the email. */
export const withoutOthers = ({ accepted, content }: Pick<Email, 'accepted' | 'content'>, recipient: number, said: string): string => {
  // Filters of hosts name the link for which they refuse a mail.
  const text = accepted.confidential === true ? said.replaceAll(SECRETS, OMITTED) : said;
  if (content === undefined || content.recipients.length < 2 || !text.includes('@')) return text;
  const own = content.recipients[recipient]?.email.toLowerCase();
  let left = text;
  for (const other of content.recipients) {
    const address = other?.email.toLowerCase();
    if (address !== undefined && address !== own) left = left.replaceAll(quoted(address), OMITTED);
  }
  return left;
};

/** The address as it stands by itself, not as a part of a longer one. */
const quoted = (address: string): RegExp =>
  new RegExp(`(?<![\\w.+-])${address.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}(?![\\w-]|\\.\\w)`, 'gi');
