/**
 * Records events that a provider posts. They lead to the same statuses, suppressions and webhooks as delivery reports;
 * what is not understood is kept with its email.
 */
import type { ProviderEventOutcome, ProviderEventsResponse } from '../../api/recipients.js';
import { emailDecider } from '../../domain/email/decider.js';
import { isGone, isTold, recipientAt, type ReportCommand } from '../../domain/email/feedback.js';
import { simulationOf } from '../../domain/email/simulator.js';
import type { Email } from '../../domain/email/state.js';
import { DomainError } from '../../domain/core/errors.js';
import { emailStream, parseTeamId, type EmailId, type TeamId } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/time.js';
import {
  type FeedbackProvider,
  isFeedbackProvider,
  type ProviderCall,
  type ProviderEvent,
  type ProviderFeedback,
} from '../../domain/ports/provider-feedback.js';
import { causeOf, type Caller } from '../core/caller.js';
import { loadState } from '../core/handle.js';
import { applyReport } from './feedback.js';
import type { RecipientNeeds } from './needs.js';
import { suppressAddress } from './suppressions.js';

type Headers = ProviderCall['headers'];

/** Emails of one call whose events are recorded at a time: their appends share commits. */
const EMAILS_AT_ONCE = 16;

/** Pauses before an event is tried again whose email is in delivery: some providers post an event once only. */
const EARLY_PAUSES_MS = [100, 400, 1_500];

const RETRY_AFTER_S = 60;

/** The settings that set up each provider. */
const settingOf: Readonly<Record<FeedbackProvider, string>> = {
  ses: 'SEALPOST_SES_TOPICS',
  postmark: 'SEALPOST_POSTMARK_TOKEN',
  sendgrid: 'SEALPOST_SENDGRID_VERIFICATION_KEY',
  mailgun: 'SEALPOST_MAILGUN_SIGNING_KEY',
  brevo: 'SEALPOST_BREVO_TOKEN',
  mailjet: 'SEALPOST_MAILJET_TOKEN',
};

type SetUp = Readonly<{ provider: FeedbackProvider; feedback: ProviderFeedback }>;

/** Throws NOT_FOUND and FEEDBACK_PROVIDER_NOT_SET_UP. */
const setUpOf = ({ providerFeedback: feedback }: RecipientNeeds, name: string): SetUp => {
  if (!isFeedbackProvider(name))
    throw new DomainError('NOT_FOUND', 'There is no provider of this name; their names are in docs/bounces.md.');
  if (feedback?.providers.includes(name) !== true)
    throw new DomainError(
      'FEEDBACK_PROVIDER_NOT_SET_UP',
      `Events of ${name} are not taken: ${settingOf[name]} is not set.`,
    );
  return { provider: name, feedback };
};

const refusal = (deps: RecipientNeeds, provider: FeedbackProvider, reason: string, message: string): DomainError => {
  deps.noteProviderEvent?.(provider, 'refused', { reason });
  return new DomainError('FEEDBACK_REFUSED', message);
};

/**
 * Checks a call by its headers alone, before its body is read. Rejects with NOT_FOUND, FEEDBACK_PROVIDER_NOT_SET_UP, and
 * FEEDBACK_REFUSED if no body could make the call authentic.
 */
export const refuseProvider = async (deps: RecipientNeeds, name: string, headers: Headers): Promise<void> => {
  const { provider, feedback } = setUpOf(deps, name);
  const refused = feedback.refusalOf(provider, headers);
  if (refused !== undefined) throw refusal(deps, provider, refused.reason, refused.message);
};

type Call = Readonly<{ name: string; call: ProviderCall; requestId: string }>;

/**
 * Records the events of a call. Resolves when all are durable. Rejects with NOT_FOUND, FEEDBACK_PROVIDER_NOT_SET_UP,
 * FEEDBACK_REFUSED, MALFORMED_JSON, and FEEDBACK_NOT_TAKEN if the call must come again; events of it that were recorded
 * then change nothing the second time.
 */
export const recordProviderEvents = async (
  deps: RecipientNeeds,
  { name, call, requestId }: Call,
): Promise<ProviderEventsResponse> => {
  const { provider, feedback } = setUpOf(deps, name);
  const reading = await feedback.read(provider, call, new AbortController().signal);
  switch (reading.kind) {
    case 'refused':
      throw refusal(deps, provider, reading.reason, reading.message);
    case 'malformed':
      throw new DomainError('MALFORMED_JSON', reading.message);
    case 'later':
      throw notTaken(reading.message);
    case 'confirmed':
      return answerOf([]);
    case 'events':
      return record(deps, { provider, requestId }, reading.events);
  }
};

const notTaken = (message: string): DomainError =>
  new DomainError('FEEDBACK_NOT_TAKEN', `${message} Send the call again in a minute.`, { retryAfterS: RETRY_AFTER_S });

type From = Readonly<{ provider: FeedbackProvider; requestId: string }>;

const answerOf = (outcomes: readonly ProviderEventOutcome[]): ProviderEventsResponse => {
  const answer = { events: outcomes.length, recorded: 0, unchanged: 0, ignored: 0, kept: 0, gone: 0, foreign: 0 };
  for (const outcome of outcomes) answer[outcome] += 1;
  return answer;
};

/** Events of one email are recorded in their order; several emails at a time. */
const record = async (
  deps: RecipientNeeds,
  from: From,
  events: readonly ProviderEvent[],
): Promise<ProviderEventsResponse> => {
  const outcomes: ProviderEventOutcome[] = [];
  const early = { count: 0 };
  const note = (outcome: ProviderEventOutcome, emailId?: EmailId): void => {
    outcomes.push(outcome);
    deps.noteProviderEvent?.(from.provider, outcome, emailId === undefined ? {} : { emailId });
  };
  const byEmail = new Map<EmailId, ProviderEvent[]>();
  for (const event of events) {
    const id = emailIdOf(deps, event);
    if (event.news.kind === 'nothing') note('ignored');
    else if (id === undefined) note('foreign');
    else if (event.news.kind === 'report' && event.news.report.action === 'delayed') note('unchanged');
    else byEmail.set(id, [...(byEmail.get(id) ?? []), event]);
  }
  const waiting = [...byEmail].values();
  const recordNext = async (): Promise<void> => {
    for (const [id, ofEmail] of waiting)
      for (const event of ofEmail) {
        const outcome = await recordInTime(deps, from, id, event);
        if (outcome === undefined) early.count += 1;
        else note(outcome, id);
      }
  };
  await Promise.all(Array.from({ length: Math.min(EMAILS_AT_ONCE, byEmail.size) }, recordNext));
  if (early.count > 0) throw notTaken(`${early.count} events are about emails that are being delivered right now.`);
  return answerOf(outcomes);
};

const emailIdOf = ({ feedback }: RecipientNeeds, { emailId, sender }: ProviderEvent): EmailId | undefined =>
  emailId ?? (sender === undefined ? undefined : feedback?.returnPath.emailOf(sender));

/** Out: undefined if the email is still in delivery after some pauses. */
const recordInTime = async (
  deps: RecipientNeeds,
  from: From,
  id: EmailId,
  event: ProviderEvent,
): Promise<ProviderEventOutcome | undefined> => {
  for (const pauseMs of [0, ...EARLY_PAUSES_MS]) {
    if (pauseMs > 0) await deps.clock.sleep(pauseMs, new AbortController().signal);
    try {
      return await recordOne(deps, from, id, event);
    } catch (fault) {
      if (!(fault instanceof DomainError) || fault.code !== 'EMAIL_IN_PROGRESS') throw fault;
    }
  }
  return undefined;
};

const PURPOSE = 'provider event';
/** 128 bits of the HMAC. */
const MAC_HEX_CHARS = 32;

const recordOne = async (
  deps: RecipientNeeds,
  { provider, requestId }: From,
  id: EmailId,
  event: ProviderEvent,
): Promise<ProviderEventOutcome> => {
  const stream = emailStream(id);
  const loaded = await loadState(deps.eventLog, stream, emailDecider);
  const { state: email } = loaded;
  const teamId = parseTeamId(loaded.teamId ?? '');
  if (email === undefined || teamId === undefined) return 'foreign';
  // A mail of a test key never left, so no provider has had it.
  if (email.accepted.test === true) return 'foreign';
  if (isGone(email)) return 'gone';
  const at = isoTime(deps.clock.now());
  const toldBy = deps.keys.fingerprint(PURPOSE, `${provider} ${event.id}`).slice(0, MAC_HEX_CHARS);
  if (isTold(email, toldBy)) return 'unchanged';
  const caller: Caller = { teamId, actor: `provider:${provider}`, permissions: [], correlationId: requestId };
  const place = event.address === undefined ? undefined : recipientAt(email, event.address);
  if (place !== undefined && simulationOf(email, place) !== undefined) return 'unchanged';
  const command = commandOf(event, { provider, at, toldBy, place, email });
  if (command === 'gone') return 'gone';
  if (command === 'unsubscribe') return unsubscribe(deps, { teamId, id, email, caller, event });
  const { isNew } = await applyReport(deps, { loaded, stream, command, caller });
  if (!isNew) return 'unchanged';
  return command.type === 'KeepProviderEvent' ? 'kept' : 'recorded';
};

type About = Readonly<{
  provider: FeedbackProvider;
  at: string;
  toldBy: string;
  /** The place of the recipient in the email; undefined if the event names none of the email. */
  place: number | undefined;
  email: Email;
}>;

/** An event about an address that the email was not sent to changes nothing, and is kept. */
const commandOf = (
  { news, address, payload }: ProviderEvent,
  { provider, at, toldBy, place, email }: About,
): ReportCommand | 'gone' | 'unsubscribe' => {
  const kept = { type: 'KeepProviderEvent', at, provider, toldBy, recipient: place, payload } as const;
  // The address may be that of an erased recipient, which nothing tells any more.
  const mayBeErased = place === undefined && email.content?.recipients.includes(null) === true;
  if (mayBeErased) return 'gone';
  if (news.kind === 'complaint' && address === undefined)
    return { type: 'RecordComplaint', at, feedbackType: news.feedbackType, addresses: [], toldBy };
  if (place === undefined) return kept;
  const { email: own } = email.content!.recipients[place]!;
  switch (news.kind) {
    case 'report':
      return { type: 'RecordReport', at, recipients: [{ ...news.report, addresses: [own] }], toldBy };
    case 'complaint':
      return { type: 'RecordComplaint', at, feedbackType: news.feedbackType, addresses: [own], toldBy };
    case 'unsubscribe':
      // A recipient who leaves one list of the provider still gets other mail; only a list of the mail tells which.
      return news.ofList && email.accepted.unsubscribeList === undefined ? kept : 'unsubscribe';
    case 'unknown':
    case 'nothing':
      return kept;
  }
};

type Leaving = Readonly<{ teamId: TeamId; id: EmailId; email: Email; caller: Caller; event: ProviderEvent }>;

/**
 * From the list of the mail, or from all mail if it has none. An event from before the address was last removed from the
 * suppression list changes nothing.
 */
const unsubscribe = async (
  deps: RecipientNeeds,
  { teamId, id, email, caller, event }: Leaving,
): Promise<ProviderEventOutcome> => {
  const { isNew, isFirst } = await suppressAddress(deps, {
    teamId,
    email: email.content!.recipients[recipientAt(email, event.address!)!]!.email,
    list: email.accepted.unsubscribeList,
    reason: 'unsubscribe',
    emailId: id,
    cause: causeOf(deps, caller),
    ...(event.happenedAt === undefined ? {} : { learnedAt: event.happenedAt }),
  });
  if (isFirst) await deps.whenHeldEverywhere();
  return isNew ? 'recorded' : 'unchanged';
};
