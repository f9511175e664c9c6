/** What a host says to one recipient is kept without the addresses of the others: it would outlive their erasure. */
import type { Email } from './state.js';

const OMITTED = '…';

/** `recipient`: to whom the text belongs, by the place in the email. */
export const withoutOthers = ({ content }: Pick<Email, 'content'>, recipient: number, text: string): string => {
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
