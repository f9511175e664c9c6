/** What the ends of dialogues mean for an email: the commands that record them, and the lines in the log. */
import { pendingRecipients, type PlacedOutcome } from '../../domain/email/copies.js';
import { nextAttemptAfter, type EmailCommand, type RetrySchedule } from '../../domain/email/decider.js';
import type { Email } from '../../domain/email/state.js';
import { ATTACHMENT_DAMAGED } from '../../domain/email/email-status.js';
import type { FileDamaged } from '../../domain/core/errors.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { Delivered, DeliveryOutcome, Mailer } from '../../domain/ports/mailer.js';
import type { LogLine } from '../core/declaration.js';
import type { Part } from './delivery-parts.js';
import type { Damaged, Impossible } from './message.js';

type Deps = Readonly<{ clock: Pick<Clock, 'now'>; mailer: Pick<Mailer, 'host' | 'final'>; schedule: RetrySchedule }>;

type Begun = Readonly<{ attempt: number; email: Email; pending: readonly number[] }>;

type Unsendable = Readonly<{ command: EmailCommand; line: LogLine }>;

export const outcomeOfUnsendable = (deps: Deps, begun: Begun, prepared: Impossible | Damaged): Unsendable => {
  const { attempt, email } = begun;
  if ('damaged' in prepared) return damagedOutcome(deps, attempt, email, prepared.damaged);
  return {
    command: { type: 'GiveUp', attempt, at: isoTime(deps.clock.now()), ...prepared },
    line: { level: 'warn', fields: { attempt, reason: prepared.reason }, message: 'email failed' },
  };
};

export const outcomeLine = (attempt: number, pending: readonly number[], { recipients, durationMs }: DeliveryOutcome) => ({
  level: 'info' as const,
  fields: {
    attempt,
    recipients: pending.length,
    accepted: recipients.filter(({ result }) => result === 'accepted').length,
    rule: recipients.find(({ result }) => result !== 'accepted')?.rule,
    durationMs: Math.round(durationMs),
  },
  message: 'delivery attempt',
});

export const outcomeCommand = (deps: Deps, attempt: number, pending: readonly number[], outcome: DeliveryOutcome) => ({
  type: 'RecordOutcome' as const,
  attempt,
  at: isoTime(deps.clock.now()),
  host: outcome.host,
  durationMs: outcome.durationMs,
  outcomes: outcome.recipients.map((result, index) => ({ ...result, recipient: pending[index]! })),
  final: deps.mailer.final,
  schedule: deps.schedule,
});

/** Undefined where there is nothing to be noted before the attempt ends. */
export const copyCommand = (
  deps: Deps,
  { attempt }: Pick<Begun, 'attempt'>,
  { host, durationMs, recipients }: DeliveryOutcome,
  part: Pick<Part, 'recipients'>,
): EmailCommand | undefined => {
  const outcomes: PlacedOutcome[] = recipients.map((result, index) => ({ ...result, recipient: part.recipients[index]! }));
  if (outcomes.every(({ result }) => result === 'deferred')) return undefined;
  return { type: 'RecordCopy', attempt, at: isoTime(deps.clock.now()), host, durationMs, outcomes };
};

/** Of all parts of an attempt, in their order. */
export const joinedOutcomes = (host: string, outcomes: readonly DeliveryOutcome[]): DeliveryOutcome => {
  const last = outcomes.at(-1);
  return {
    host: last?.host ?? host,
    durationMs: outcomes.reduce((sum, { durationMs }) => sum + durationMs, 0),
    recipients: outcomes.flatMap(({ recipients }) => recipients),
    ...(last?.hostAway === true ? { hostAway: true } : {}),
  };
};

const aborted = {
  result: 'deferred',
  replyCode: null,
  enhancedCode: null,
  rule: 'aborted',
  text: 'the attempt was ended before this copy was sent',
} as const;

/** Of a part that no dialogue began for. */
export const leftOutcome = (
  host: string,
  delivered: Extract<Delivered, { kind: 'host-away' | 'given-up' }>,
  { recipients }: Pick<Part, 'recipients'>,
): DeliveryOutcome =>
  delivered.kind === 'given-up'
    ? { host, durationMs: 0, recipients: recipients.map(() => aborted) }
    : { host, durationMs: 0, recipients: recipients.map(() => delivered.fault), hostAway: true };

/** The file may be put back from a backup: the mail is tried again as after a temporary refusal, and fails when these tries are spent. */
const damagedOutcome = (deps: Deps, attempt: number, email: Email, damaged: FileDamaged): Unsendable => {
  const text = 'the file of an attachment is damaged';
  const isLast = nextAttemptAfter(email, isoTime(deps.clock.now()), deps.schedule) === undefined;
  const deferred = { result: 'deferred' as const, replyCode: null, enhancedCode: null, rule: ATTACHMENT_DAMAGED, text };
  const recipients = pendingRecipients(email).map(() => deferred);
  const command: EmailCommand = isLast
    ? { type: 'GiveUp', attempt, at: isoTime(deps.clock.now()), reason: 'content-lost', rule: ATTACHMENT_DAMAGED, text }
    : outcomeCommand(deps, attempt, pendingRecipients(email), { host: deps.mailer.host, durationMs: 0, recipients });
  return { command, line: { level: 'warn', fields: { attempt, isLast, err: damaged }, message: 'the file of an attachment is damaged' } };
};
