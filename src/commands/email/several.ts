/**
 * Sends several different emails in one call. Each has its own result, or all are accepted or none. An accepted email
 * is an ordinary email.
 */
import type { SendEmailRequest, SendEmailResponse } from '../../api/email.js';
import type { RefusedEmail, SendEmailsRequest, SendEmailsResponse } from '../../api/several-emails.js';
import type { Charged } from '../../domain/billing/decider.js';
import {
  AppendUnknown,
  DomainError,
  type FieldError,
  invalid,
  StoreAway,
  WrongExpectedRevision,
} from '../../domain/core/errors.js';
import { assertDefined, emailStream, parseEmailId, type EmailId } from '../../domain/core/ids.js';
import type { EmailAccepted, EmailContent } from '../../domain/email/events.js';
import type { Loss } from '../../domain/rendering/paths/losses.js';
import type { Cause } from '../../event-log/event-log.js';
import { nextTurn } from '../../shared/concurrency.js';
import { firstChars } from '../../shared/text.js';
import { giveBackQuietly, reserveFor, reserveForAll } from '../billing/credits.js';
import { causeOf, isTest, type Caller } from '../core/caller.js';
import { fingerprintOf, type Answer, type Idempotency, type JoinedCalls } from '../core/idempotency.js';
import { checkEmail, costOf, withCharged, type EmailOrder, type StoredBytes } from './acceptance.js';
import { sendResponse, warningsOf } from './answers.js';
import type { EmailNeeds } from './needs.js';
import {
  accept,
  appendEmail,
  derivedId,
  dropEmail,
  emailOf,
  orderEmail,
  prepareEmail,
  type PreparedEmail,
} from './send.js';
import type { MailSource } from './source.js';

export type SeveralNeeds = EmailNeeds &
  Readonly<{
    /** The calls with several emails under way in this process that carry an Idempotency-Key, by their first email. */
    joinSeveral: JoinedCalls<Answer<SendEmailsResponse>>;
  }>;

const ENDPOINT = 'POST /api/emails/batch';

/** Emails of one call that are made at once. */
const AT_ONCE = 4;

/** Faults of one refused email that its result names. */
const FAULTS_MAX = 10;
const MESSAGE_CHARS_MAX = 500;
/** Details of all refusals of a call, because one event keeps them. Beyond it, refusals have a code and a message only. */
const DETAILS_CHARS_MAX = 64 * 1024;

const RETRY_AFTER_S = 5;

type Refusal = RefusedEmail['error'];

type Call = Readonly<{
  caller: Caller;
  emails: readonly SendEmailRequest[];
  isAllOrNone: boolean;
  storedBytes: StoredBytes | undefined;
  /** undefined: the call has no Idempotency-Key. */
  fingerprint: string | undefined;
  /** The id of the email that is appended first, by which a repeated call is recognised. */
  firstId: EmailId;
  idAt: (index: number) => EmailId | Promise<EmailId>;
}>;

type KeyedCall = Call & Readonly<{ fingerprint: string; storedAt: (index: number) => ReturnType<typeof emailOf> }>;

/** An email that is made, and paid where `charged` is given, and not appended yet. */
type Ready = Readonly<{
  index: number;
  id: EmailId;
  prepared: PreparedEmail;
  cause: Cause;
  charged: Charged | undefined;
}>;

/** The emails of a call while they are made: `held` must be given up where the call fails. */
type Work = Readonly<{ call: Call; refused: Map<number, DomainError>; held: Map<number, Ready> }>;

/**
 * Resolves when the accepted emails are durable. Rejects with EMAILS_REFUSED and QUOTA_EXCEEDED for a call that wants
 * all or none, with VALIDATION_ERROR for too many files, and with QUEUE_FULL if there is no room for all; nothing is
 * accepted then. Refusals of single emails are
 * results. If a store stops to answer in the middle, a call with an Idempotency-Key rejects, and its repetition
 * continues; without a key, the results say which emails are accepted.
 */
export const sendEmails = async (
  deps: SeveralNeeds,
  caller: Caller,
  { emails, allOrNone = false }: SendEmailsRequest,
  idempotency?: Idempotency,
  storedBytes?: StoredBytes,
): Promise<Answer<SendEmailsResponse>> => {
  assertFiles(emails, deps.limits);
  const common = { caller, emails, isAllOrNone: allOrNone, storedBytes };
  if (idempotency === undefined) {
    const call = { ...common, fingerprint: undefined, firstId: newId(deps), idAt: () => newId(deps) };
    return { body: await begin(deps, call), replayed: false };
  }
  const fingerprint = fingerprintOf(deps.keys, idempotency);
  const first = { endpoint: ENDPOINT, idempotency };
  const keyedAt = (index: number) => ({ ...first, place: `emails[${index}]` });
  const firstOfAll = derivedId(deps, caller, first);
  const { answer, joined } = await deps.joinSeveral(firstOfAll, fingerprint, async () => {
    const { id: firstId, event } = await emailOf(deps, caller, first);
    const storedAt = (index: number) => emailOf(deps, caller, keyedAt(index));
    // If the first email was given up, so were others of the call that have credits reserved.
    const idAt = async (index: number) =>
      firstId === firstOfAll ? derivedId(deps, caller, keyedAt(index)) : (await storedAt(index)).id;
    const call: KeyedCall = { ...common, fingerprint, firstId, idAt, storedAt };
    if (event !== undefined) return resume(deps, call, firstId, event);
    try {
      return { body: await begin(deps, call, (index) => acceptMissing(deps, call, index)), replayed: false };
    } catch (fault) {
      if (!(fault instanceof WrongExpectedRevision)) throw fault;
      // Another process has begun this call meanwhile: both accept what is missing.
      const other = await emailOf(deps, caller, first);
      if (other.event === undefined) throw fault;
      return resume(deps, call, other.id, other.event);
    }
  });
  return joined ? { ...answer, replayed: true } : answer;
};

/**
 * Throws VALIDATION_ERROR for a call whose emails make more documents, or fetch more files, than one call may wait for.
 */
const assertFiles = (emails: readonly SendEmailRequest[], { callFilesMax: max }: EmailNeeds['limits']): void => {
  const made = emails
    .flatMap(({ attachments = [] }) => attachments)
    .reduce(
      (sum, { attachmentTemplateId, outputFormats, url }) =>
        sum + (attachmentTemplateId === undefined ? Number(url !== undefined) : (outputFormats?.length ?? 1)),
      0,
    );
  if (made > max)
    throw invalid(
      'request body',
      'emails',
      `generate or fetch ${made} files together; at most ${max} are allowed in one call: send the others in another`,
    );
};

const newId = ({ ids }: Pick<EmailNeeds, 'ids'>): EmailId => assertDefined(parseEmailId(ids.uuid()), 'UUID');

/**
 * Makes and pays the emails, then appends them: one first, then the others together. `conflicting`: accepts an email
 * whose stream another call has begun.
 */
const begin = async (
  deps: EmailNeeds,
  call: Call,
  conflicting?: (index: number) => Promise<SendEmailResponse>,
): Promise<SendEmailsResponse> => {
  const { caller, emails, isAllOrNone } = call;
  deps.backlog.assertRoom(caller.teamId, emails.length);
  const work: Work = { call, refused: new Map(), held: new Map() };
  try {
    const [first, ...rest] = isAllOrNone ? await readyAll(deps, work) : await readyEach(deps, work);
    const refusals = refusalsOf(work.refused);
    const accepted = new Map<number, SendEmailResponse>();
    if (first === undefined) return answerOf(emails.length, accepted, notAccepted(refusals));
    accepted.set(first.index, await appendHeld(deps, work, withCall(call, first, refusals)));
    const ends = await Promise.allSettled(
      rest.map(async (one) => {
        try {
          accepted.set(one.index, await appendHeld(deps, work, one));
        } catch (fault) {
          if (!(fault instanceof WrongExpectedRevision) || conflicting === undefined) throw fault;
          accepted.set(one.index, await conflicting(one.index));
        }
      }),
    );
    const others = notAccepted(refusals);
    for (const [place, end] of ends.entries()) {
      if (end.status === 'fulfilled') continue;
      const { index } = rest[place]!;
      const fault: unknown = end.reason;
      if (fault instanceof DomainError)
        for (const [at, result] of notAccepted(refusalsOf(new Map([[index, fault]])))) others.set(at, result);
      else if (call.fingerprint === undefined) others.set(index, unreached(index, fault));
      else throw fault;
    }
    return answerOf(emails.length, accepted, others);
  } catch (fault) {
    for (const one of work.held.values()) await giveUp(deps, call, one);
    throw fault;
  }
};

/**
 * Makes and pays each email by itself. Those that are refused go into `refused`. All are made before the first is paid,
 * because `settle-credits` takes a reservation back whose email is not appended soon.
 */
const readyEach = async (deps: EmailNeeds, work: Work): Promise<readonly Ready[]> => {
  const { call, refused } = work;
  const makeFirst = (at: number) => unlessRefused(refused, at, () => make(deps, work, at, call.firstId));
  const payFor = (one: Ready) => unlessRefused(refused, one.index, () => pay(deps, work, one));
  let first: Ready | undefined;
  let index = 0;
  // Only the email that is appended first has the id of the call.
  for (; first === undefined && index < call.emails.length; index += 1) first = await makeFirst(index);
  if (first === undefined) return [];
  const made = await inParts(placesFrom(index, call.emails.length), (at) =>
    unlessRefused(refused, at, async () => make(deps, work, at, await call.idAt(at))),
  );
  const others = made.filter((one) => one !== undefined);
  let paid = await payFor(first);
  while (paid === undefined && others.length > 0) {
    const next = others.shift()!;
    work.held.delete(next.index);
    await dropEmail(deps, next.prepared);
    const again = await makeFirst(next.index);
    paid = again && (await payFor(again));
  }
  if (paid === undefined) return [];
  // In the order of the call: if the credits are not enough for all, they go to the first emails.
  const rest = await settleAll(others.map(payFor));
  return [paid, ...rest.filter((one) => one !== undefined)];
};

/** Makes all emails and pays for them together. Rejects with EMAILS_REFUSED and QUOTA_EXCEEDED. */
const readyAll = async (deps: EmailNeeds, work: Work): Promise<readonly Ready[]> => {
  const { call, refused } = work;
  const made = await inParts(placesFrom(0, call.emails.length), (at) =>
    unlessRefused(refused, at, async () => make(deps, work, at, at === 0 ? call.firstId : await call.idAt(at))),
  );
  if (refused.size > 0) throw emailsRefused(refused, call.emails.length);
  const ready = made.filter((one) => one !== undefined);
  const metered = ready.filter(({ prepared }) => prepared.isMetered);
  const wanted = metered.map(({ id, prepared }) => ({ stream: emailStream(id), cost: costOf(prepared.event) }));
  const charged = await reserveForAll(deps, call.caller, wanted, causeOf(deps, call.caller));
  const chargedOf = new Map(metered.map((one, place) => [one, charged?.[place]]));
  return ready.map((one) => paidWith(work, one, chargedOf.get(one)));
};

const make = async (deps: EmailNeeds, { call, held }: Work, index: number, id: EmailId): Promise<Ready> => {
  const { caller, emails, storedBytes, fingerprint } = call;
  await nextTurn();
  const request = assertDefined(emails[index], 'email of the call');
  const prepared = await prepareEmail(deps, caller, id, { request, storedBytes, ahead: index }, fingerprint);
  const ready = { index, id, prepared, cause: causeOf(deps, caller, prepared.event.data.at), charged: undefined };
  held.set(index, ready);
  return ready;
};

/** Rejects with QUOTA_EXCEEDED, and gives the email up then. */
const pay = async (deps: EmailNeeds, work: Work, one: Ready): Promise<Ready> => {
  const { id, prepared } = one;
  if (!prepared.isMetered) return one;
  const { caller } = work.call;
  const wanted = { stream: emailStream(id), cost: costOf(prepared.event), cause: causeOf(deps, caller) };
  try {
    return paidWith(work, one, await reserveFor(deps, caller, wanted));
  } catch (fault) {
    work.held.delete(one.index);
    await dropEmail(deps, prepared);
    throw fault;
  }
};

const paidWith = ({ held }: Work, one: Ready, charged: Charged | undefined): Ready => {
  if (charged === undefined) return one;
  const { prepared } = one;
  const paid = { ...one, charged, prepared: { ...prepared, event: withCharged(prepared.event, charged) } };
  held.set(one.index, paid);
  return paid;
};

/** Appends an email. If that fails it is given up. */
const appendHeld = async (deps: EmailNeeds, { call, held }: Work, one: Ready): Promise<SendEmailResponse> => {
  held.delete(one.index);
  try {
    return await appendEmail(deps, call.caller, one.id, one.prepared, one.cause);
  } catch (fault) {
    await giveUp(deps, call, one, !(fault instanceof AppendUnknown));
    throw fault;
  }
};

/**
 * Under an Idempotency-Key another process may accept the same email right now, so `settle-credits` checks its
 * reservation later.
 */
const giveUp = async (
  deps: EmailNeeds,
  { caller, fingerprint }: Call,
  { prepared, charged, cause }: Ready,
  isCertain = true,
): Promise<void> => {
  await dropEmail(deps, prepared, isCertain);
  if (isCertain && charged !== undefined && fingerprint === undefined)
    await giveBackQuietly(deps, caller, charged, cause);
};

/**
 * A repeated call: what it accepted and refused before is answered from the events, and what it did not come to is
 * accepted now.
 */
const resume = async (
  deps: EmailNeeds,
  call: KeyedCall,
  firstId: EmailId,
  event: EmailAccepted,
): Promise<Answer<SendEmailsResponse>> => {
  const { index: firstIndex = 0 } = event.data.call ?? {};
  const known = storedRefusals(event);
  const accepted = new Map([[firstIndex, sendResponse(firstId, event)]]);
  const missing: number[] = [];
  const open = placesFrom(0, call.emails.length).filter((index) => index !== firstIndex && !known.has(index));
  const stored = await Promise.all(open.map(call.storedAt));
  for (const [place, { id, event: earlier }] of stored.entries()) {
    if (earlier === undefined) missing.push(open[place]!);
    else accepted.set(open[place]!, sendResponse(id, earlier));
  }
  const refused = new Map<number, DomainError>();
  if (missing.length > 0) deps.backlog.assertRoom(call.caller.teamId, missing.length);
  await inParts(missing, (index) =>
    unlessRefused(refused, index, async () => {
      await nextTurn();
      accepted.set(index, await acceptMissing(deps, call, index));
    }),
  );
  const others = notAccepted(new Map([...known, ...refusalsOf(refused)]));
  return { body: answerOf(call.emails.length, accepted, others), replayed: missing.length === 0 };
};

/** Answers with the email at that place if it is stored; otherwise accepts it. */
const acceptMissing = async (deps: EmailNeeds, call: KeyedCall, index: number): Promise<SendEmailResponse> => {
  const { caller, emails, storedBytes, fingerprint } = call;
  const request = assertDefined(emails[index], 'email of the call');
  for (;;) {
    const { id, event } = await call.storedAt(index);
    if (event !== undefined) return sendResponse(id, event);
    try {
      return await accept(deps, caller, id, { request, storedBytes, ahead: index }, fingerprint);
    } catch (fault) {
      // Another process was faster: its email is the answer.
      if (!(fault instanceof WrongExpectedRevision)) throw fault;
    }
  }
};

/**
 * The checks of the call, one email after the other. Stores and sends nothing. Rejects with QUEUE_FULL and VALIDATION_ERROR.
 */
export const dryRunEmails = async (
  deps: EmailNeeds,
  caller: Caller,
  { emails }: SendEmailsRequest,
): Promise<SendEmailsResponse> => {
  assertFiles(emails, deps.limits);
  deps.backlog.assertRoom(caller.teamId, emails.length);
  const quota = await deps.credits.quote(caller.teamId);
  const refused = new Map<number, DomainError>();
  const checked = await inParts(placesFrom(0, emails.length), (index) =>
    unlessRefused(refused, index, () => checkOne(deps, caller, assertDefined(emails[index], 'email'), index)),
  );
  const results: SendEmailsResponse['results'] = [];
  const cost = { emails: 0, attachments: 0 };
  for (const one of checked) {
    if (one === undefined) continue;
    const { index, isMetered, recipientCount, documents, losses } = one;
    const withIt = { emails: cost.emails + 1, attachments: cost.attachments + documents };
    const refusal = isMetered ? quota.wouldRefuse(withIt) : undefined;
    if (refusal !== undefined) {
      refused.set(index, refusal);
      continue;
    }
    if (isMetered) Object.assign(cost, withIt);
    const warnings = warningsOf({ losses: [...losses] });
    results.push({
      index,
      status: 'valid',
      recipientCount,
      credits: isMetered ? 1 + documents : 0,
      ...(losses.length > 0 && warnings !== undefined && { warnings }),
    });
  }
  const others = notAccepted(refusalsOf(refused));
  return {
    valid: others.size === 0,
    accepted: results.length,
    refused: others.size,
    credits: cost.emails + cost.attachments,
    results: [...results, ...others.values()].sort((one, other) => one.index - other.index),
  };
};

type CheckedOne = Readonly<{
  index: number;
  isMetered: boolean;
  recipientCount: number;
  documents: number;
  losses: readonly Loss[];
}>;

const checkOne = async (
  deps: EmailNeeds,
  caller: Caller,
  request: SendEmailRequest,
  index: number,
): Promise<CheckedOne> => {
  await nextTurn();
  const { order, isMetered, suppressed } = await orderEmail(
    deps,
    caller,
    newId(deps),
    { request, storedBytes: undefined, ahead: index },
    undefined,
  );
  // A request has a template or content; only SMTP brings messages.
  const { generated, losses = [] } = await checkEmail(deps, order as EmailOrder<MailSource>);
  const documents = generated === undefined ? 0 : generated.pdf + generated.excel;
  const isForSomebody = suppressed.length < order.recipients.length;
  return {
    index,
    isMetered: !isTest(caller) && isMetered && isForSomebody,
    recipientCount: order.recipients.length,
    documents,
    losses,
  };
};

const placesFrom = (from: number, to: number): readonly number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, place) => from + place);

/** Works on `AT_ONCE` places at a time. If one fails, those that have begun end before it rejects. */
const inParts = async <Made>(
  places: readonly number[],
  work: (place: number) => Promise<Made>,
): Promise<readonly Made[]> => {
  const made: Made[] = [];
  for (let from = 0; from < places.length; from += AT_ONCE)
    made.push(...(await settleAll(places.slice(from, from + AT_ONCE).map(work))));
  return made;
};

/** As Promise.all, but rejects when all have ended. */
const settleAll = async <Made>(all: readonly (Promise<Made> | Made)[]): Promise<readonly Made[]> => {
  const ends = await Promise.allSettled(all);
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  });
};

/** Notes an email that breaks a rule as refused. */
const unlessRefused = async <Made>(
  refused: Map<number, DomainError>,
  index: number,
  work: (index: number) => Promise<Made>,
): Promise<Made | undefined> => {
  try {
    return await work(index);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    refused.set(index, fault);
    return undefined;
  }
};

const inOrder = <Value>(byIndex: ReadonlyMap<number, Value>): readonly (readonly [number, Value])[] =>
  [...byIndex].sort(([one], [other]) => one - other);

/** The refusals as results show them, in the order of the call; bounded, because an event keeps them. */
const refusalsOf = (refused: ReadonlyMap<number, DomainError>): ReadonlyMap<number, Refusal> => {
  let chars = 0;
  return new Map(
    inOrder(refused).map(([index, { code, message, details }]) => {
      const { errors, relatedInfo, retryAfterS } = details;
      const more = {
        ...(errors !== undefined && {
          errors: errors.slice(0, FAULTS_MAX).map(({ field, message: fault }) => ({ field, message: fault })),
        }),
        ...(relatedInfo !== undefined && { relatedInfo: { ...relatedInfo } }),
        ...(retryAfterS !== undefined && { retryAfter: retryAfterS }),
      };
      chars += JSON.stringify(more).length;
      const shown = { code, message: firstChars(message, MESSAGE_CHARS_MAX) };
      return [index, chars > DETAILS_CHARS_MAX ? shown : { ...shown, ...more }] as const;
    }),
  );
};

const notAccepted = (refusals: ReadonlyMap<number, Refusal>): Map<number, RefusedEmail> =>
  new Map([...refusals].map(([index, error]) => [index, { index, status: 'refused', error }]));

/** The result of an email whose append failed after another of the call was accepted. Other faults are thrown on. */
const unreached = (index: number, fault: unknown): RefusedEmail => {
  if (fault instanceof StoreAway)
    return {
      index,
      status: 'refused',
      error: {
        code: 'STORE_AWAY',
        message:
          'A server or a disk that the service needs does not answer. This email was not accepted; send it again.',
        retryAfter: RETRY_AFTER_S,
      },
    };
  if (fault instanceof AppendUnknown || fault instanceof WrongExpectedRevision)
    return {
      index,
      status: 'unknown',
      error: {
        code: 'OUTCOME_UNKNOWN',
        message:
          'A server or a disk stopped to answer while this email was recorded: whether it was accepted is not known. The list of emails shows it if it was.',
      },
    };
  throw fault;
};

/** The email that is appended first keeps what the others cannot tell a repeated call. */
const withCall = ({ fingerprint }: Call, first: Ready, refusals: ReadonlyMap<number, Refusal>): Ready => {
  if (fingerprint === undefined || (first.index === 0 && refusals.size === 0)) return first;
  const refused = [...refusals].map(([index, { code }]) => ({ index, code }));
  const call = { index: first.index, refused };
  const details = [...refusals.values()].map(({ code: _code, ...detail }) => detail);
  return { ...first, prepared: { ...first.prepared, event: eventWith(first.prepared.event, call, details) } };
};

const eventWith = (
  event: EmailAccepted,
  call: NonNullable<EmailAccepted['data']['call']>,
  refusals: NonNullable<EmailContent['refusals']>,
): EmailAccepted => {
  const content = assertDefined(event.sealed, 'content of a new email');
  const sealed = refusals.length === 0 ? content : { ...content, refusals };
  switch (event.type) {
    case 'EmailQueued':
      return { ...event, data: { ...event.data, call }, sealed };
    case 'EmailScheduled':
      return { ...event, data: { ...event.data, call }, sealed };
  }
};

/** The refusals that the first email of a call keeps. Once it is erased or archived, only the codes are left. */
const storedRefusals = ({ data: { call }, sealed }: EmailAccepted): ReadonlyMap<number, Refusal> =>
  new Map(
    (call?.refused ?? []).map(({ index, code }, place) => [
      index,
      { code, ...(sealed?.refusals?.[place] ?? { message: 'The email was refused. Why is not kept any longer.' }) },
    ]),
  );

const answerOf = (
  count: number,
  accepted: ReadonlyMap<number, SendEmailResponse>,
  others: ReadonlyMap<number, RefusedEmail>,
): SendEmailsResponse => ({
  accepted: accepted.size,
  refused: [...others.values()].filter(({ status }) => status === 'refused').length,
  results: placesFrom(0, count).map((index) => {
    const answer = accepted.get(index);
    return answer === undefined ? assertDefined(others.get(index), 'result of an email') : { index, ...answer };
  }),
});

/** The refusal of a call that wants all or none: `errors` names each faulty email and its fields. */
const emailsRefused = (refused: ReadonlyMap<number, DomainError>, count: number): DomainError => {
  const errors = inOrder(refused).flatMap(([index, { code, message, details }]): FieldError[] => {
    const place = `emails[${index}]`;
    const faults = (details.errors ?? []).slice(0, FAULTS_MAX);
    if (faults.length === 0) return [{ field: place, message, code }];
    return faults.map(({ field, message: fault }) => ({
      field: field === '' ? place : `${place}.${field}`,
      message: fault,
      code,
    }));
  });
  return new DomainError(
    'EMAILS_REFUSED',
    `${refused.size} of ${count} emails ${refused.size === 1 ? 'is' : 'are'} refused, so none was accepted; \`errors\` names each. Correct them, or send without \`allOrNone\`.`,
    { errors, relatedInfo: { refused: refused.size, emails: count } },
  );
};
