/** Delivers an email by SMTP; its state says what is to be sent and to whom. */
import { loadAttachments, type ReadyAttachment } from '../commands/attachments.js';
import type { CommandDeps } from '../commands/deps.js';
import { domainOfAddress } from '../commands/sender-domains.js';
import { compiledTemplate } from '../commands/templates.js';
import { emailDecider, nextAttemptAfter, pendingRecipients, type EmailCommand, type RetrySchedule } from '../domain/email/decider.js';
import { attemptUnderWay, openAttempt, type Email, type EmailState } from '../domain/email/state.js';
import { DomainError, FileDamaged, KeyMissing } from '../domain/errors.js';
import { ATTACHMENT_DAMAGED } from '../domain/email/status.js';
import { assertDefined, parseTemplateId, type StreamName } from '../domain/ids.js';
import type { JsonObject } from '../domain/json.js';
import { composeMessage, type MessageAttachment } from '../domain/message/compose.js';
import type { Priority } from '../domain/ports/bus.js';
import { isoTime, type Clock } from '../domain/ports/clock.js';
import type { Logger } from '../domain/ports/logger.js';
import type { DeliveryOutcome, Mailer, OutgoingMessage, SigningKey } from '../domain/ports/mailer.js';
import type { Company, InlineImage } from '../domain/ports/renderer.js';
import { HOUR_MS } from '../domain/time.js';
import type { AttemptContext, LogLine, Made, Processor } from './declaration.js';
import { openDomainKeys, type DomainKeys } from './domain-keys.js';
import { envelopeOf } from './envelope.js';
import { openHostBreaker, type HostBreaker } from './host-breaker.js';
import { makeProcessor } from './processor.js';
import { suppressionOf } from './suppressed-recipients.js';

export const DELIVER_EMAIL = 'deliver-email';

export type DeliveryDeps = CommandDeps &
  Readonly<{
    logger: Logger;
    mailer: Mailer;
    schedule: RetrySchedule;
    /** Awaited before a message is made: many are ready at once, and each takes a millisecond or more of the event loop. */
    turnFor: (priority: Priority) => Promise<void>;
    /** Told how long the composing of a message took. */
    composed?: (seconds: number) => void;
  }>;

export const deliverEmail = (deps: DeliveryDeps): Processor => {
  const { clock, logger, mailer, limits } = deps;
  const breaker = openHostBreaker({ clock, logger, host: mailer.host, probe: (signal) => mailer.probe({ signal }) });
  const waitForHostMs = limits.hostAwayHoursMax * HOUR_MS;
  const domainKeys = openDomainKeys(deps);
  return makeProcessor<'email', EmailState, EmailCommand>({
    name: DELIVER_EMAIL,
    kind: 'email',
    decider: emailDecider,
    startedBy: {
      EmailQueued: ({ data }) => data.priority,
      EmailReleased: ({ data }) => data.priority,
      EmailRetried: ({ data }) => data.priority,
      EmailScheduled: null,
      EmailRescheduled: null,
      DeliveryAttempted: null,
      EmailSent: null,
      EmailDeferred: null,
      EmailBounced: null,
      EmailFailed: null,
      EmailDelivered: null,
      EmailBounceReported: null,
      EmailComplained: null,
      EmailCancelled: null,
      // It goes on for the others.
      RecipientsSuppressed: ({ data }) => data.priority,
      EmailBouncesNoted: null,
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
      make: (context) => deliver({ ...deps, breaker, waitForHostMs, domainKeys }, context),
    },
    gate: breaker,
  });
};

type Delivering = DeliveryDeps & Readonly<{ breaker: HostBreaker; waitForHostMs: number; domainKeys: DomainKeys }>;

const PUT_BACK_MS = 1_000;
const PUT_BACK_MAX_MS = 30_000;

/** The attempt is recorded once the mailer has a connection for it. */
const deliver = async (deps: Delivering, context: AttemptContext<Email, EmailCommand>): Promise<Made<EmailCommand>> => {
  const { clock, breaker, mailer, waitForHostMs } = deps;
  const { state: email, teamId, deliveries, signal } = context;
  const askedMs = clock.monotonic();
  let begun: Begun | undefined;
  let line: LogLine | undefined;
  let suppressing: EmailCommand | undefined;
  const delivered = await mailer.send({
    priority: email.accepted.priority,
    signal,
    begin: async () => {
      await deps.turnFor(email.accepted.priority);
      const suppression = suppressionOf(deps, teamId, email);
      suppressing = suppression instanceof Promise ? await suppression : suppression;
      if (suppressing !== undefined) return undefined;
      const [attempt, prepared] = await bothDone(context.begin(), messageOf(deps, context, email));
      if (attempt === undefined) return undefined;
      begun = begunOf(clock, attempt.state);
      if (!('raw' in prepared)) {
        const unsendable = outcomeOfUnsendable(deps, begun, prepared);
        line = unsendable.line;
        await context.end(unsendable.command);
        return undefined;
      }
      return { message: outgoing(deps, context.stream, begun, prepared), signal: attempt.signal };
    },
    end: async (outcome) => {
      const { attempt, pending, atMs } = assertDefined(begun, 'attempt');
      if (outcome.hostAway === undefined) breaker.answered();
      line = outcomeLine(attempt, pending, outcome);
      const command = outcomeCommand(deps, attempt, pending, outcome);
      const isHeld = outcome.hostAway === true && breaker.away(atMs);
      await context.end(isHeld ? { ...command, waitForHostMs } : command);
    },
  });
  switch (delivered.kind) {
    case 'ended':
    case 'not-wanted':
      if (suppressing !== undefined) return { kind: 'hold', command: suppressing };
      return { kind: 'done', ...(line === undefined ? {} : { line }) };
    case 'given-up':
      return { kind: 'put-back', atMs: clock.now() };
    case 'host-away': {
      const { fault } = delivered;
      const said = { level: 'info' as const, fields: { rule: fault.rule }, message: 'no session could be opened' };
      if (!breaker.away(askedMs)) return { kind: 'put-back', atMs: clock.now() + pauseBeforeNext(deliveries), line: said };
      const command = { type: 'HoldEmail' as const, at: isoTime(clock.now()), host: mailer.host, waitForHostMs, fault };
      return { kind: 'hold', command, line: said };
    }
  }
};

/** A host that has others of our sessions may take one more soon. */
const pauseBeforeNext = (deliveries: number): number => Math.min(PUT_BACK_MS * 2 ** Math.min(deliveries - 1, 20), PUT_BACK_MAX_MS);

/** `atMs`: when it has begun, by the monotonic clock. */
type Begun = Readonly<{ attempt: number; email: Email; pending: readonly number[]; atMs: number }>;

const begunOf = (clock: Clock, email: Email): Begun => ({
  attempt: assertDefined(openAttempt(email), 'attempt').attempt,
  email,
  pending: pendingRecipients(email),
  atMs: clock.monotonic(),
});

/** Where one rejects the other is awaited all the same: nothing is under way when this has ended. */
const bothDone = async <First, Second>(first: Promise<First>, second: Promise<Second>): Promise<readonly [First, Second]> => {
  try {
    return await Promise.all([first, second]);
  } catch (fault) {
    await Promise.allSettled([first, second]);
    throw fault;
  }
};

const outgoing = (deps: Delivering, stream: StreamName, { email, pending }: Begun, { from, raw, signWith }: Message): OutgoingMessage => ({
  envelope: envelopeOf(
    deps,
    stream,
    from,
    pending.map((index) => email.content!.recipients[index]!.email),
  ),
  messageId: email.accepted.messageId,
  raw,
  ...(signWith === undefined ? {} : { signWith }),
});

type Unsendable = Readonly<{ command: EmailCommand; line: LogLine }>;

const outcomeOfUnsendable = (deps: Delivering, begun: Begun, prepared: Impossible | Damaged): Unsendable => {
  const { attempt, email } = begun;
  if ('damaged' in prepared) return damagedOutcome(deps, attempt, email, prepared.damaged);
  return {
    command: { type: 'GiveUp', attempt, at: isoTime(deps.clock.now()), ...prepared },
    line: { level: 'warn', fields: { attempt, reason: prepared.reason }, message: 'email failed' },
  };
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
const damagedOutcome = (deps: DeliveryDeps, attempt: number, email: Email, damaged: FileDamaged): Unsendable => {
  const text = 'the file of an attachment is damaged';
  const isLast = nextAttemptAfter(email, isoTime(deps.clock.now()), deps.schedule) === undefined;
  const deferred = { result: 'deferred' as const, replyCode: null, enhancedCode: null, rule: ATTACHMENT_DAMAGED, text };
  const recipients = pendingRecipients(email).map(() => deferred);
  const command: EmailCommand = isLast
    ? { type: 'GiveUp', attempt, at: isoTime(deps.clock.now()), reason: 'content-lost', rule: ATTACHMENT_DAMAGED, text }
    : outcomeCommand(deps, attempt, pendingRecipients(email), { host: deps.mailer.host, durationMs: 0, recipients });
  return { command, line: { level: 'warn', fields: { attempt, isLast, err: damaged }, message: 'the file of an attachment is damaged' } };
};

type Message = Readonly<{ from: string; raw: Buffer; signWith: readonly SigningKey[] | undefined }>;
type Damaged = Readonly<{ damaged: FileDamaged }>;
type Impossible = Readonly<{ reason: 'rendering' | 'content-lost'; text: string }>;

type Addressed = Pick<AttemptContext<Email, EmailCommand>, 'stream' | 'teamId'>;

/** The finished mail, made from what was pinned at acceptance; the keys are those that its sender has now. */
const messageOf = async (deps: Delivering, { stream, teamId }: Addressed, email: Email): Promise<Message | Impossible | Damaged> => {
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
  const signWith = await deps.domainKeys(teamId, domainOfAddress(content.from.email));
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
    return { from: content.from.email, raw, signWith };
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
