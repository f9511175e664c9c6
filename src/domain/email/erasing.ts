/** What is personal of some recipients of an email goes, and the email goes on for the others. */
import type { EmailEvent } from './events.js';
import { erase } from './requests.js';
import { evolveEmail, type Email } from './state.js';
import { isErased, isWaiting } from './status.js';

/**
 * Nothing happens while a dialogue is under way. Where nobody else is left the email goes whole; where nobody is left who was or will be
 * attempted it is cancelled.
 */
export const eraseRecipients = (
  { at, recipients }: Readonly<{ at: string; recipients: readonly number[] }>,
  email: Email,
): readonly EmailEvent[] => {
  const { accepted, status, archivedAt, deletedAt } = email;
  if (archivedAt !== null || status === 'processing') return [];
  const places = accepted.roles.map((_, place) => place);
  const known = places.filter((place) => !isErased(email, place));
  const news = known.filter((place) => recipients.includes(place));
  if (deletedAt !== null || news.length === known.length) return erase({ type: 'EraseEmail', at }, email);
  if (news.length === 0) return [];
  const erased: EmailEvent = { type: 'RecipientsErased', data: { at, recipients: news, priority: accepted.priority } };
  const after = evolveEmail(email, erased);
  const waitsForNobody = after !== undefined && isWaiting(after) && !after.recipientStatuses.includes('queued');
  return waitsForNobody ? [erased, { type: 'EmailCancelled', data: { at } }] : [erased];
};
