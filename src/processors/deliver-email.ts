/**
 * Delivers one email: records the attempt, speaks SMTP, records what came of it, acknowledges. Every step is safe to repeat;
 * after a crash the attempt without an outcome is visible and is made again with the same Message-ID.
 */
import { handle } from '../commands/command-handler.js';
import { loadAttachments, type ReadyAttachment } from '../commands/attachments.js';
import { compiledTemplate } from '../commands/templates.js';
import { emailDecider, pendingRecipients, type EmailCommand } from '../domain/email/decider.js';
import type { EmailEvent } from '../domain/email/events.js';
import { openAttempt, type Email } from '../domain/email/state.js';
import { DomainError, WrongExpectedRevision } from '../domain/errors.js';
import { versionOf, type Cause, type StreamVersion } from '../event-log/event-log.js';
import { assertDefined, parseTemplateId, type StreamName } from '../domain/ids.js';
import type { JsonObject } from '../domain/json.js';
import { composeMessage, type MessageAttachment } from '../domain/message/compose.js';
import { isoTime } from '../domain/ports/clock.js';
import type { Work } from '../domain/ports/bus.js';
import type { DeliveryOutcome } from '../domain/ports/mailer.js';
import type { Company, InlineImage } from '../domain/ports/renderer.js';
import type { Worker } from '../domain/ports/worker.js';
import { openDeadlines, type Deadlines } from './deadlines.js';
import { causeOfWork, DELIVER_EMAIL, type ProcessorDeps } from './deps.js';
import { runLanes } from './lanes.js';

const RETRY_AFTER_FAULT_MS = 1_000;
const RETRY_AFTER_FAULT_MAX_MS = 5 * 60_000;

/** A fault of ours (a disk, a bug) is met again after growing pauses: the mail is kept, and the log says that it is stuck. */
const pauseAfterFault = (deliveries: number): number =>
  Math.min(RETRY_AFTER_FAULT_MS * 2 ** Math.min(deliveries - 1, 20), RETRY_AFTER_FAULT_MAX_MS);

export const deliverEmailWorker = (deps: ProcessorDeps): Worker => ({
  name: DELIVER_EMAIL,
  run: async (signal) => {
    const deadlines = openDeadlines(deps.clock, deps.limits.deliveryDeadlineMs, deps.cutOff);
    const floor: Floor = { signal, deadlines };
    try {
      await runLanes(deps.bus.consume(DELIVER_EMAIL, { maxInFlight: deps.deliveriesMax, signal }), {
        keyOf: ({ pointer }) => pointer.stream,
        lanes: deps.limits.lanes,
        handle: (work) => deliver(deps, floor, work),
        onFault: (work, fault) => {
          // Nothing was recorded, or only the attempt: the stream says how to go on.
          deps.logger.error(
            { stream: work.pointer.stream, deliveries: work.deliveries, err: asError(fault) },
            'delivery fault, will be tried again',
          );
          void work.retryAt(deps.clock.now() + pauseAfterFault(work.deliveries));
        },
      });
    } finally {
      deadlines.close();
    }
  },
});

/** What the lanes share. */
type Floor = Readonly<{
  /** Aborts when the worker is to stop. */
  signal: AbortSignal;
  deadlines: Deadlines;
}>;

const asError = (fault: unknown): Error => (fault instanceof Error ? fault : new Error('not an Error'));

type Open = Readonly<{ email: Email; version: StreamVersion; cause: Cause }>;

const deliver = async (deps: ProcessorDeps, floor: Floor, work: Work): Promise<void> => {
  const stream = work.pointer.stream as StreamName;
  if (floor.signal.aborted) return work.retryAt(deps.clock.now());
  const begun = await begin(deps, stream);
  if (begun === undefined) return work.ack();
  const { email } = begun;
  const attempt = openAttempt(email)!.attempt;
  const prepared = await messageOf(deps, stream, email);
  if ('reason' in prepared) {
    await record(deps, floor, stream, begun, { type: 'GiveUp', attempt, at: now(deps), ...prepared });
    deps.logger.warn({ stream, attempt, reason: prepared.reason }, 'email failed');
    return work.ack();
  }
  const pending = pendingRecipients(email);
  const message = {
    envelope: { from: prepared.from, to: pending.map((index) => email.content!.recipients[index]!.email) },
    messageId: email.accepted.messageId,
    raw: prepared.raw,
  };
  const outcome = await floor.deadlines.within((cutOff) => deps.mailer.send(message, { signal: cutOff }));
  await record(deps, floor, stream, begun, outcomeCommand(deps, attempt, pending, outcome));
  await work.ack();
  deps.logger.info(
    {
      stream,
      attempt,
      recipients: pending.length,
      accepted: outcome.recipients.filter(({ result }) => result === 'accepted').length,
      rule: outcome.recipients.find(({ result }) => result !== 'accepted')?.rule,
      durationMs: Math.round(outcome.durationMs),
    },
    'delivery attempt',
  );
};

const now = (deps: ProcessorDeps): string => isoTime(deps.clock.now());

/** Records the attempt; undefined where there is nothing to do (any more). */
const begin = async (deps: ProcessorDeps, stream: StreamName): Promise<Open | undefined> => {
  const recorded = await deps.eventLog.load(stream);
  const first = recorded[0];
  const last = recorded.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const email = recorded.reduce((state: Email | undefined, { event }) => emailDecider.evolve(state, event as EmailEvent), undefined);
  const cause = causeOfWork(deps, DELIVER_EMAIL, {
    teamId: first.metadata.teamId,
    correlationId: first.metadata.correlationId,
    causationId: last.metadata.eventId,
  });
  const deadlineAt = isoTime(deps.clock.now() + deps.limits.deliveryDeadlineMs);
  const command = {
    type: 'AttemptDelivery' as const,
    at: cause.at,
    host: deps.mailer.host,
    worker: deps.worker,
    deadlineAt,
    exclusive: deps.exclusive,
  };
  const events = emailDecider.decide(command, email);
  if (events.length === 0) return undefined;
  let version: StreamVersion;
  try {
    version = await deps.eventLog.append(stream, versionOf(last), events, cause);
  } catch (fault) {
    // Somebody else changed the email in this moment; what they wrote makes its own pointer where there is work left.
    if (fault instanceof WrongExpectedRevision) return undefined;
    throw fault;
  }
  const begun = events.reduce(emailDecider.evolve, email);
  return begun === undefined || openAttempt(begun) === undefined ? undefined : { email: begun, version, cause };
};

type Message = Readonly<{ from: string; raw: Buffer }>;
type Unsendable = Readonly<{ reason: 'rendering' | 'content-lost'; text: string }>;

/** The finished mail, made from what was pinned at acceptance. */
const messageOf = async (deps: ProcessorDeps, stream: StreamName, email: Email): Promise<Message | Unsendable> => {
  const { accepted, content } = email;
  if (content === undefined) return { reason: 'content-lost', text: 'the personal data of this email is destroyed' };
  let attachments: readonly ReadyAttachment[] | undefined = [];
  if (content.attachments.length > 0) {
    const key = await deps.eventLog.existingKey(stream);
    attachments = key && (await loadAttachments(deps.files, key, content.attachments));
    if (attachments === undefined) return { reason: 'content-lost', text: 'an attachment of this email is gone' };
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
    return { from: content.from.email, raw };
  } catch (fault) {
    if (fault instanceof DomainError) return { reason: 'rendering', text: `${fault.code}: ${fault.message}` };
    throw fault;
  }
};

/** What the rendering itself has drawn; pictures of the gallery were put among the attachments when the email was accepted. */
const drawn = (image: InlineImage): readonly MessageAttachment[] =>
  'bytes' in image
    ? [{ filename: 'qr-code.png', contentType: image.contentType, contentId: image.contentId, content: Buffer.from(image.bytes) }]
    : [];

const outcomeCommand = (deps: ProcessorDeps, attempt: number, pending: readonly number[], outcome: DeliveryOutcome): EmailCommand => ({
  type: 'RecordOutcome',
  attempt,
  at: now(deps),
  host: outcome.host,
  durationMs: outcome.durationMs,
  outcomes: outcome.recipients.map((result, index) => ({ ...result, recipient: pending[index]! })),
  final: deps.mailer.final,
  schedule: deps.schedule,
});

/**
 * Appends what came of the attempt. A disk that refuses now may take it later, and forgetting it would send the mail twice:
 * so this goes on until it succeeds or the program stops.
 */
const record = async (deps: ProcessorDeps, floor: Floor, stream: StreamName, begun: Open, command: EmailCommand): Promise<void> => {
  const events = emailDecider.decide(command, begun.email);
  if (events.length === 0) return;
  const cause = { ...begun.cause, at: now(deps) };
  for (;;) {
    try {
      await deps.eventLog.append(stream, begun.version, events, cause);
      return;
    } catch (fault) {
      if (fault instanceof WrongExpectedRevision) {
        await handle(deps.eventLog, stream, emailDecider, command, cause);
        return;
      }
      if (floor.signal.aborted) throw fault;
      deps.logger.error({ stream, err: asError(fault) }, 'the outcome of a delivery could not be recorded, trying again');
      await deps.clock.sleep(RETRY_AFTER_FAULT_MS, floor.signal);
    }
  }
};
