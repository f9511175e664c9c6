/** Delivers an email by SMTP; its state says what is to be sent and to whom. */
import { loadAttachments, type ReadyAttachment } from '../commands/attachments.js';
import type { CommandDeps } from '../commands/deps.js';
import { compiledTemplate } from '../commands/templates.js';
import { emailDecider, pendingRecipients, type EmailCommand, type RetrySchedule } from '../domain/email/decider.js';
import { attemptUnderWay, openAttempt, type Email, type EmailState } from '../domain/email/state.js';
import { DomainError, FileDamaged, KeyMissing } from '../domain/errors.js';
import { ATTACHMENT_DAMAGED } from '../domain/email/status.js';
import { assertDefined, parseTemplateId, type StreamName } from '../domain/ids.js';
import type { JsonObject } from '../domain/json.js';
import { composeMessage, type MessageAttachment } from '../domain/message/compose.js';
import { isoTime } from '../domain/ports/clock.js';
import type { Logger } from '../domain/ports/logger.js';
import type { DeliveryOutcome, Mailer } from '../domain/ports/mailer.js';
import type { Company, InlineImage } from '../domain/ports/renderer.js';
import { HOUR_MS } from '../domain/time.js';
import type { Context, Outcome, Processor } from './declaration.js';
import { openHostBreaker, type HostBreaker } from './host-breaker.js';
import { makeProcessor } from './processor.js';

export const DELIVER_EMAIL = 'deliver-email';

export type DeliveryDeps = CommandDeps &
  Readonly<{
    logger: Logger;
    mailer: Mailer;
    schedule: RetrySchedule;
    /** Told how long the composing of a message took. */
    composed?: (seconds: number) => void;
  }>;

export const deliverEmail = (deps: DeliveryDeps): Processor => {
  const { clock, logger, mailer, limits } = deps;
  const breaker = openHostBreaker({ clock, logger, host: mailer.host, probe: (signal) => mailer.probe({ signal }) });
  const waitForHostMs = limits.hostAwayHoursMax * HOUR_MS;
  return makeProcessor<'email', EmailState, EmailCommand>({
    name: DELIVER_EMAIL,
    kind: 'email',
    decider: emailDecider,
    startedBy: {
      EmailQueued: ({ data }) => data.priority,
      EmailReleased: ({ data }) => data.priority,
      EmailRetried: ({ data }) => data.priority,
      EmailScheduled: null,
      DeliveryAttempted: null,
      EmailSent: null,
      EmailDeferred: null,
      EmailBounced: null,
      EmailFailed: null,
      EmailDelivered: null,
      EmailCancelled: null,
      EmailDeleted: null,
      EmailArchived: null,
    },
    timers: [
      { kind: 'deliver', read: 'started', inTurns: true },
      { kind: 'deferred', read: 'due', inTurns: true },
      { kind: 'held', read: 'held', inTurns: true },
      { kind: 'processing', read: 'under-way' },
    ],
    deadlineMs: deps.limits.deliveryDeadlineMs,
    attempts: {
      underWay: (email) => attemptUnderWay(email)?.worker,
      assertPossible: (stream, { content }) => {
        if (content === undefined) throw new KeyMissing(stream);
      },
      begin: (attempt) => ({ type: 'AttemptDelivery', host: mailer.host, ...attempt }),
      hold: ({ at }) => ({ type: 'HoldEmail', at, host: mailer.host, waitForHostMs }),
    },
    gate: breaker,
    act: (context) => deliver({ ...deps, breaker, waitForHostMs }, context),
  });
};

type Delivering = DeliveryDeps & Readonly<{ breaker: HostBreaker; waitForHostMs: number }>;

const deliver = async (deps: Delivering, { stream, state: email, signal }: Context<Email>): Promise<Outcome<EmailCommand>> => {
  const { attempt } = assertDefined(openAttempt(email), 'attempt');
  const prepared = await messageOf(deps, stream, email);
  if ('damaged' in prepared) return damagedOutcome(deps, attempt, email, prepared.damaged);
  if ('reason' in prepared) {
    return {
      command: { type: 'GiveUp', attempt, at: isoTime(deps.clock.now()), ...prepared },
      line: { level: 'warn', fields: { attempt, reason: prepared.reason }, message: 'email failed' },
    };
  }
  const pending = pendingRecipients(email);
  const message = {
    envelope: { from: prepared.from, to: pending.map((index) => email.content!.recipients[index]!.email) },
    messageId: email.accepted.messageId,
    priority: email.accepted.priority,
    raw: prepared.raw,
  };
  const begunMs = deps.clock.monotonic();
  const outcome = await deps.mailer.send(message, { signal });
  if (outcome.hostAway === undefined) deps.breaker.answered();
  const isHeld = outcome.hostAway === true && deps.breaker.away(begunMs);
  const command = outcomeCommand(deps, attempt, pending, outcome);
  return { command: isHeld ? { ...command, waitForHostMs: deps.waitForHostMs } : command, line: outcomeLine(attempt, pending, outcome) };
};

const outcomeLine = (attempt: number, pending: readonly number[], { recipients, durationMs }: DeliveryOutcome) => ({
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

const outcomeCommand = (deps: DeliveryDeps, attempt: number, pending: readonly number[], outcome: DeliveryOutcome) => ({
  type: 'RecordOutcome' as const,
  attempt,
  at: isoTime(deps.clock.now()),
  host: outcome.host,
  durationMs: outcome.durationMs,
  outcomes: outcome.recipients.map((result, index) => ({ ...result, recipient: pending[index]! })),
  final: deps.mailer.final,
  schedule: deps.schedule,
});

/** The file may be put back from a backup: the mail is tried again as after a temporary refusal, and fails when these tries are spent. */
const damagedOutcome = (deps: DeliveryDeps, attempt: number, email: Email, damaged: FileDamaged): Outcome<EmailCommand> => {
  const text = 'the file of an attachment is damaged';
  const isLast = deps.schedule.delaysMs[email.deferrals] === undefined;
  const deferred = { result: 'deferred' as const, replyCode: null, enhancedCode: null, rule: ATTACHMENT_DAMAGED, text };
  const recipients = pendingRecipients(email).map(() => deferred);
  const command: EmailCommand = isLast
    ? { type: 'GiveUp', attempt, at: isoTime(deps.clock.now()), reason: 'content-lost', rule: ATTACHMENT_DAMAGED, text }
    : outcomeCommand(deps, attempt, pendingRecipients(email), { host: deps.mailer.host, durationMs: 0, recipients });
  return { command, line: { level: 'warn', fields: { attempt, isLast, err: damaged }, message: 'the file of an attachment is damaged' } };
};

type Message = Readonly<{ from: string; raw: Buffer }>;
type Damaged = Readonly<{ damaged: FileDamaged }>;
type Unsendable = Readonly<{ reason: 'rendering' | 'content-lost'; text: string }>;

/** The finished mail, made from what was pinned at acceptance. */
const messageOf = async (deps: DeliveryDeps, stream: StreamName, email: Email): Promise<Message | Unsendable | Damaged> => {
  const { accepted, content } = email;
  if (content === undefined) throw new KeyMissing(stream);
  let attachments: readonly ReadyAttachment[] = [];
  if (content.attachments.length > 0) {
    const key = await deps.eventLog.existingKey(stream);
    if (key === undefined) throw new KeyMissing(stream);
    const loaded = await undamaged(loadAttachments(deps.files, key, content.attachments));
    if (loaded instanceof FileDamaged) return { damaged: loaded };
    if (loaded === undefined) return { reason: 'content-lost', text: 'an attachment of this email is gone' };
    attachments = loaded;
  }
  try {
    const date = email.scheduledAt ?? accepted.at;
    const render = await compiledTemplate(
      deps,
      assertDefined(parseTemplateId(accepted.templateId), 'template id'),
      accepted.templateRevision,
    );
    // With the call's own subject, as at acceptance: it stands in the HTML's title, and the template's own need not fit.
    const { html, text, inline } = render({
      variables: content.variables as JsonObject,
      ...(content.subjectOverride === undefined ? {} : { subject: content.subjectOverride }),
      environment: { at: date, company: accepted.company as Company },
    });
    const addresses = (role: 'to' | 'cc') =>
      content.recipients.flatMap(({ email: address, name }, index) => (accepted.roles[index] === role ? [{ address, name }] : []));
    const beganMs = deps.composed === undefined ? 0 : deps.clock.monotonic();
    const raw = composeMessage({
      from: { address: content.from.email, name: content.from.name },
      to: addresses('to'),
      cc: addresses('cc'),
      replyTo: content.replyTo === undefined ? undefined : { address: content.replyTo },
      subject: content.subject,
      date,
      messageId: accepted.messageId,
      headers: Object.entries(content.headers).map(([name, value]) => ({ name, value })),
      html,
      text,
      attachments: [
        ...attachments.map(({ filename, contentType, contentId, bytes }) => ({ filename, contentType, contentId, content: bytes })),
        ...inline.flatMap(drawn),
      ],
      priority: accepted.priority,
    });
    deps.composed?.((deps.clock.monotonic() - beganMs) / 1_000);
    return { from: content.from.email, raw };
  } catch (fault) {
    if (fault instanceof DomainError) return { reason: 'rendering', text: `${fault.code}: ${fault.message}` };
    throw fault;
  }
};

const undamaged = <Loaded>(loading: Promise<Loaded>): Promise<Loaded | FileDamaged> =>
  loading.catch((fault: unknown) => {
    if (fault instanceof FileDamaged) return fault;
    throw fault;
  });

/** What the rendering itself has drawn; pictures of the gallery were put among the attachments when the email was accepted. */
const drawn = (image: InlineImage): readonly MessageAttachment[] =>
  'bytes' in image
    ? [{ filename: 'qr-code.png', contentType: image.contentType, contentId: image.contentId, content: Buffer.from(image.bytes) }]
    : [];
