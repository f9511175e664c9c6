/** What is personal of the document of an email, from its acceptance until it is erased, as a whole or for some of its recipients. */
import type { EmailEnvelope } from '../../domain/email/events.js';
import type { Draft } from '../../domain/email/status.js';
import type { EmailDocument } from './documents.js';
import { emailTerms, emailText, recipientTexts, withoutRecipients } from './search.js';

type SearchedDraft = Draft<Pick<EmailDocument, 'text' | 'terms' | 'recipientTexts'>>;

export const setSearched = (email: SearchedDraft, envelope: EmailEnvelope, tags: readonly string[]): void => {
  email.text = emailText(envelope);
  setTerms(email, emailTerms(envelope, tags));
  if (envelope.recipients.length > 1) email.recipientTexts = recipientTexts(envelope);
};

/** There is no empty list of terms. */
const setTerms = (email: SearchedDraft, terms: readonly string[]): void => {
  if (terms.length > 0) email.terms = [...terms];
  else delete email.terms;
};

/** They are found no more, and nothing of them is kept. */
export const eraseRecipients = (email: SearchedDraft, erased: readonly number[]): void => {
  const { text, terms = [], recipientTexts: texts } = email;
  if (text === undefined || texts === undefined) return;
  const left = withoutRecipients({ text, terms, texts }, erased);
  email.text = left.text;
  email.recipientTexts = [...left.texts];
  setTerms(email, left.terms);
};

/** Takes out what is personal, and what is not kept any more. */
export const removeErased = (email: Draft<EmailDocument>, by: 'EmailDeleted' | 'EmailArchived' | 'EmailRemoved'): void => {
  delete email.subject;
  delete email.text;
  delete email.terms;
  delete email.recipientTexts;
  delete email.attachmentBytes;
  delete email.tags;
  if (by !== 'EmailArchived') delete email.team;
};
