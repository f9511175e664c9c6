/** The read model of the lists of emails, their filters, and the search for emails to retry. */
import { type EmailId, assertDefined, parseEmailId } from '../../domain/core/ids.js';
import { type EmailStatus, type RecipientStatus, failedRecipientsOf } from '../../domain/email/status.js';
import { EMAILS, type EmailDocument, type EmailListing } from './read-models.js';
import type { Query, ReadModels } from '../../domain/ports/read-models.js';
import { nextTurn } from '../../shared/concurrency.js';
import { readCursor, writeCursor } from '../core/pages.js';

export { EMAIL_BACKLOGS, EMAIL_COUNTS, EMAILS, type EmailCountsDocument, type EmailDocument } from './read-models.js';

export type EmailFilter = Readonly<{
  /** One, or several of which the email has one. */
  status?: EmailStatus | readonly EmailStatus[];
  templateId?: string;
  /** Created at or after, ISO 8601. */
  startDate?: string;
  /** Created at or before, ISO 8601. */
  endDate?: string;
  /**
   * Substring of a recipient's address or name, or of the subject; two characters at least, or one that is ideographic.
   */
  search?: string;
  /** The address of a recipient, in the form in which emails have it. */
  recipient?: string;
  tag?: string;
  /** The id of its bulk send. */
  batchId?: string;
  /** The actor who sent it, such as `apiKey:<id>`. */
  createdBy?: string;
  /** The domain of the sender's address, whole, as `parseDomain` gives it. */
  senderDomain?: string;
  /** A key of the metadata. */
  metadataKey?: string;
  /** Keys of the metadata with their values as texts. */
  metadata?: Readonly<Record<string, string>>;
  /** A recipient has this status. */
  recipientStatus?: RecipientStatus;
  /** Sent with a test key, or not. */
  test?: boolean;
}>;

/** Emails to push by hand: waiting ones, or failed ones. */
export type RetryFilter = Pick<EmailFilter, 'templateId' | 'startDate' | 'endDate' | 'test'> &
  Readonly<{ status: 'queued' | 'failed' }>;

/** `ids`: emails that wait for a time or have failed; `held`: emails that wait for the relay. */
export type ToRetry = Readonly<{ ids: readonly EmailId[]; held: readonly EmailId[]; nextCursor: string | null }>;

export const emailListItem = ({
  id,
  status,
  templateId,
  templateName,
  subject,
  to,
  toName,
  attachments,
  tags,
  batch,
  reason,
  relay,
  createdAt,
  summary,
  test,
}: EmailDocument): EmailListing => ({
  id,
  status,
  archived: summary.archivedAt !== null,
  emailTemplateName: templateName,
  templateId,
  subject: subject ?? null,
  to: to === undefined ? null : { email: to, name: toName ?? null },
  recipientCount: summary.recipientStatuses.length,
  failedRecipients: failedRecipientsOf(summary),
  attachmentCount: attachments ?? 0,
  tags: [...(tags ?? [])],
  batchId: batch ?? null,
  failureReason: reason ?? null,
  relay: relay ?? null,
  createdAt,
  sentAt: summary.sentAt,
  deliveredAt: summary.deliveredAt,
  test: test === 1,
});

/** Emails that are read in one turn of the event loop, and turns of one call. */
const PAGE = 100;
const PAGES_MAX = 10;

const ORDER = 'createdAt';

/** Finds emails to push by hand. `where`: team, status and further conditions. */
export const emailsToRetry = async (
  readModels: Pick<ReadModels, 'find'>,
  where: Query['where'],
  cursor: string | undefined,
): Promise<ToRetry> => {
  const ids: EmailId[] = [];
  const held: EmailId[] = [];
  let after = cursor === undefined ? undefined : readCursor(cursor, EMAILS, ORDER);
  for (let pages = 1; ; pages += 1) {
    const query = {
      where,
      sort: { field: ORDER, direction: 'asc' as const },
      ...(after === undefined ? {} : { after }),
      limit: PAGE,
    };
    const page = (await readModels.find(EMAILS, query)) as readonly EmailDocument[];
    for (const email of page) {
      const id = assertDefined(parseEmailId(email.id), 'email id');
      if (isHeld(email)) held.push(id);
      else if (email.status === 'failed' || email.summary.nextAttemptAt !== null) ids.push(id);
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return { ids, held, nextCursor: null };
    if (pages === PAGES_MAX) return { ids, held, nextCursor: writeCursor(last, EMAILS, ORDER) };
    after = { value: last.createdAt, seq: last.seq };
    await nextTurn();
  }
};

const isHeld = ({ status, summary }: EmailDocument): boolean => status === 'queued' && summary.heldUntil !== undefined;
