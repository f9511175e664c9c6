/** Exports what is stored about an address, one line of JSON for each thing, read while it is sent. */
import type { Caller } from '../core/caller.js';
import { requireAddress } from '../../domain/mime/address.js';
import { loadState } from '../core/handle.js';
import type { EmailNeeds } from '../email/needs.js';
import { emailRecord } from '../email/answers.js';
import { deliveriesAbout, type Places } from '../webhooks/records.js';
import { readSuppressions, suppressionIdsOf } from '../recipients/suppressions.js';
import type { EmailRecord } from '../../api/email.js';
import { approvalDecider } from '../../domain/approvals/decider.js';
import type { DataSubjectRequest, ExportedApproval, ExportedBulkSend, ExportedEmail } from '../../api/privacy.js';
import { batchDecider } from '../../domain/bulk/decider.js';
import { emailDecider } from '../../domain/email/decider.js';
import type { AddressIndex } from '../../domain/privacy/decider.js';
import { EventUnknown, EventUnreadable } from '../../domain/core/errors.js';
import {
  approvalStream,
  batchStream,
  emailStream,
  type ApprovalId,
  type BatchId,
  type EmailId,
  type WebhookId,
} from '../../domain/core/ids.js';
import type { JsonObject } from '../../domain/core/json.js';
import { isoTime } from '../../domain/core/time.js';
import { nextTurn } from '../../shared/concurrency.js';

/** Emails that are read side by side and held in memory. */
const AT_ONCE = 10;
/** Emails per search for webhook requests. */
const EMAILS_MAX = 50_000;

type Of = Readonly<{ caller: Caller; address: string; index: AddressIndex }>;

/** `index`: where the address may stand. Rejects with ERR_EMAIL_001. */
export const exportAddress = async (
  deps: EmailNeeds,
  caller: Caller,
  { email }: DataSubjectRequest,
  index: AddressIndex,
): Promise<AsyncIterable<string>> => lines(deps, { caller, address: requireAddress(email, 'email'), index });

const line = (type: string, held: object): string => `${JSON.stringify({ type, ...held })}\n`;

async function* lines(deps: EmailNeeds, of: Of): AsyncGenerator<string> {
  const { caller, address, index } = of;
  yield line('address', { email: address, exportedAt: isoTime(deps.clock.now()) });
  const suppressions = await readSuppressions(deps, caller, await suppressionIdsOf(deps, caller.teamId, address));
  for (const suppression of suppressions) yield line('suppression', suppression);
  for (const id of await index.openBatches(caller.teamId)) {
    for (const held of await heldInBatch(deps, of, id)) yield line('bulkSend', held);
    await nextTurn();
  }
  for (const id of await index.approvalsOfAddress(caller.teamId, address)) {
    const held = await heldInApproval(deps, of, id);
    if (held !== undefined) yield line('approval', held);
    await nextTurn();
  }
  const about = new Map<string, PlacesIn>();
  for await (const { ids } of index.emailsOfAddress(caller.teamId, address)) {
    for (let from = 0; from < ids.length; from += AT_ONCE) {
      const some = await Promise.all(ids.slice(from, from + AT_ONCE).map((id) => heldInEmail(deps, of, id)));
      for (const held of some) {
        if (held === undefined) continue;
        if (held.places !== undefined) about.set(held.email.id, held.places);
        yield line('email', held.email);
      }
      await nextTurn();
    }
    if (about.size < EMAILS_MAX) continue;
    yield* deliveryLines(deps, of, about);
    about.clear();
  }
  yield* deliveryLines(deps, of, about);
}

async function* deliveryLines(deps: EmailNeeds, { caller, index }: Of, about: Places): AsyncGenerator<string> {
  if (about.size === 0) return;
  for (const webhook of await index.webhooksOfTeam(caller.teamId)) yield* deliveriesOf(deps, webhook, about);
}

async function* deliveriesOf(deps: EmailNeeds, webhook: WebhookId, about: Places): AsyncGenerator<string> {
  try {
    for await (const deliveries of deliveriesAbout(deps, webhook, about)) {
      for (const delivery of deliveries) yield line('webhookDelivery', delivery);
      await nextTurn();
    }
  } catch (fault) {
    if (!(fault instanceof EventUnreadable) && !(fault instanceof EventUnknown)) throw fault;
    yield line('webhookDelivery', { webhookId: webhook, unreadable: true });
  }
}

type PlacesIn = Readonly<{ places: readonly number[]; isOnly: boolean }>;
/** `places`: undefined where they cannot be read. */
type Held = Readonly<{ email: ExportedEmail; places: PlacesIn | undefined }>;

const isSame = (one: string | null, other: string): boolean =>
  one !== null && one.toLowerCase() === other.toLowerCase();

/** Data of the address in the email, without that of other recipients. undefined: the email holds none any more. */
const heldInEmail = async (deps: EmailNeeds, { caller, address }: Of, id: EmailId): Promise<Held | undefined> => {
  const known = await readable(() => loadState(deps.eventLog, emailStream(id), emailDecider));
  if (known === undefined) return { email: { id, unreadable: true }, places: undefined };
  const { state, teamId } = known;
  if (state === undefined || teamId !== caller.teamId || state.deletedAt !== null || state.archivedAt !== null)
    return undefined;
  const record = emailRecord(id, state);
  const places = record.recipients.flatMap(({ email }, place) => (isSame(email, address) ? [place] : []));
  if (places.length === 0) return undefined;
  return { email: exportedOf(record, places), places: { places, isOnly: places.length === record.recipients.length } };
};

/** Fields of the whole email may come from any recipient, so they are exported only if all are the address's. */
const exportedOf = (
  { metadata, complainedAt, feedbackType, ...record }: EmailRecord,
  places: readonly number[],
): ExportedEmail => {
  const { recipients, attempts, tracking } = record;
  const complaint = {
    ...(complainedAt === undefined ? {} : { complainedAt }),
    ...(feedbackType === undefined ? {} : { feedbackType }),
  };
  if (places.length === recipients.length) {
    const { variables, attachments, custom } = metadata;
    return { ...record, ...complaint, content: { variables, attachments, metadata: custom } };
  }
  return {
    ...record,
    openedAt: null,
    clickedAt: null,
    recipients: recipients.filter((_, place) => places.includes(place)),
    attempts: attempts.map((attempt) => ({ ...attempt, replyCode: null, reply: null })),
    tracking: { ...tracking, events: tracking.events.filter(({ recipient }) => places.includes(recipient)) },
    content: null,
  };
};

/** Data of a bulk send for that address alone, if its emails are not all made. */
const heldInBatch = async (
  deps: EmailNeeds,
  { caller, address }: Of,
  id: BatchId,
): Promise<readonly ExportedBulkSend[]> => {
  const known = await readable(() => loadState(deps.eventLog, batchStream(id), batchDecider));
  if (known === undefined || known.teamId !== caller.teamId) return [];
  const { state } = known;
  return (state?.content?.recipients ?? []).flatMap(({ email, name, variables }, at) =>
    isSame(email, address) && state?.erased?.includes(at) !== true
      ? [{ batchId: id, email, name: name ?? null, variables: (variables ?? {}) as JsonObject }]
      : [],
  );
};

/** Data of a proposed email for that address alone. Its variables may be about any recipient, so they need it to be the only one. */
const heldInApproval = async (
  deps: EmailNeeds,
  { caller, address }: Of,
  id: ApprovalId,
): Promise<ExportedApproval | undefined> => {
  const known = await readable(() => loadState(deps.eventLog, approvalStream(id), approvalDecider));
  if (known === undefined || known.teamId !== caller.teamId) return undefined;
  const { proposal, status, requested } = known.state ?? {};
  const held = proposal?.recipients.filter(({ email }) => isSame(email, address)) ?? [];
  const [first] = held;
  if (proposal === undefined || first === undefined) return undefined;
  const isOnly = held.length === proposal.recipients.length;
  return {
    approvalId: id,
    status: status ?? 'requested',
    askedAt: requested?.at ?? '',
    email: first.email,
    name: first.name ?? null,
    subject: isOnly ? proposal.subject : null,
    variables: isOnly ? ((proposal.request['variables'] ?? {}) as JsonObject) : null,
  };
};

/** Damaged data is reported as such, so that the rest can be exported. */
const readable = async <Held>(read: () => Promise<Held>): Promise<Held | undefined> => {
  try {
    return await read();
  } catch (fault) {
    if (fault instanceof EventUnreadable || fault instanceof EventUnknown) return undefined;
    throw fault;
  }
};
