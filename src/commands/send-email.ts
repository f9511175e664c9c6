/** Accepts one email: checks all, renders once to check, pins what the mail depends on, and appends it. */
import type { Caller } from './caller.js';
import { fingerprintOf, isSameBody, keyReused, type Answer, type Idempotency } from './idempotency.js';
import { isoMoment } from './remembered.js';
import { noAttachments, prepareAttachments, storeAttachments } from './attachments.js';
import type { Claim, Stored } from './attachment-claims.js';
import { keptBytes, sizeOf } from './attachment-storage.js';
import { checkRequest, type CheckedRequest } from './check-request.js';
import { causeOf, type CommandDeps } from './deps.js';
import { readAttachments } from './given-attachments.js';
import { compiledTemplate, findTemplate, type KnownTemplate } from './templates.js';
import { openBudget } from '../domain/budget.js';
import { emailDecider } from '../domain/email/decider.js';
import type { EmailAccepted, EmailContent } from '../domain/email/events.js';
import { sendResponse, TYPICAL_DELIVERY_MS } from './email-answers.js';
import type { SendEmailRequest, SendEmailResponse } from '../api/emails.js';
import { AppendUnknown, DomainError, WrongExpectedRevision } from '../domain/errors.js';
import { startOf } from '../event-log/event-log.js';
import { emailIdOfFingerprint, emailStream, assertDefined, parseEmailId, teamStream, type EmailId } from '../domain/ids.js';
import type { JsonObject } from '../domain/json.js';
import type { CheckedEmail } from '../domain/ports/renderer.js';
import { resolveVersion } from '../domain/template/state.js';

const ENDPOINT = 'POST /api/emails/send';

/** What of attachments the team has stored; asked only where the email has attachments. */
export type StoredBytes = () => Promise<Stored>;

type Asked = Readonly<{ request: SendEmailRequest; storedBytes: StoredBytes | undefined }>;

/** Resolves when the email is durable. Rejects with the codes of its checks, having written nothing. */
export const sendEmail = async (
  deps: CommandDeps,
  caller: Caller,
  request: SendEmailRequest,
  idempotency?: Idempotency,
  storedBytes?: StoredBytes,
): Promise<Answer<SendEmailResponse>> => {
  const asked = { request, storedBytes };
  const id = newEmailId(deps, caller, idempotency);
  if (idempotency === undefined) return { body: await accept(deps, caller, id, asked), replayed: false };
  const fingerprint = fingerprintOf(deps.keys, idempotency);
  // Joined before any work, so that many identical calls make no document twice.
  const { answer, joined } = await deps.joinSends(id, fingerprint, async () => {
    const replayed = await replay(deps, id, idempotency);
    if (replayed !== undefined) return replayed;
    try {
      return { body: await accept(deps, caller, id, asked, fingerprint), replayed: false };
    } catch (fault) {
      // Another process was faster with the same key: its answer is the answer.
      const other = fault instanceof WrongExpectedRevision ? await replay(deps, id, idempotency) : undefined;
      if (other === undefined) throw fault;
      return other;
    }
  });
  return joined ? { ...answer, replayed: true } : answer;
};

const accept = async (deps: CommandDeps, caller: Caller, id: EmailId, asked: Asked, fingerprint?: string): Promise<SendEmailResponse> => {
  deps.backlog.assertRoom(caller.teamId);
  const { event, keyId, claim } = await prepare(deps, caller, id, asked, fingerprint);
  const stream = emailStream(id);
  const cause = { ...causeOf(deps, caller), at: event.data.at };
  try {
    const { position } = await deps.eventLog.append(stream, startOf(stream, keyId), [event], cause);
    claim?.accepted(position);
  } catch (fault) {
    claim?.release();
    // What was put for an email that certainly did not come to be belongs to nobody; where that is not known, it may be the email's.
    if (!(fault instanceof AppendUnknown)) for (const { file } of event.sealed?.attachments ?? []) await deps.files.delete(file);
    throw fault;
  }
  if (event.type === 'EmailQueued') deps.backlog.accepted(caller.teamId);
  return sendResponse(id, event);
};

const newEmailId = (deps: CommandDeps, caller: Caller, idempotency: Idempotency | undefined): EmailId =>
  idempotency === undefined
    ? assertDefined(parseEmailId(deps.ids.uuid()), 'UUID')
    : emailIdOfFingerprint(deps.keys.fingerprint('email id', JSON.stringify([caller.teamId, ENDPOINT, idempotency.key])));

const replay = async (deps: CommandDeps, id: EmailId, idempotency: Idempotency): Promise<Answer<SendEmailResponse> | undefined> => {
  const first = (await deps.eventLog.load(emailStream(id)))[0]?.event;
  if (first === undefined || (first.type !== 'EmailQueued' && first.type !== 'EmailScheduled')) return undefined;
  if (!isSameBody(deps.keys, first.data.fingerprint, idempotency)) throw keyReused();
  return { body: sendResponse(id, first), replayed: true };
};

/** `keyId`: the key that sealed its attachments, and is to seal the event too. `claim`: the room that these take. */
type Prepared = Readonly<{ event: EmailAccepted; keyId: string | undefined; claim: Claim | undefined }>;

const prepare = async (
  deps: CommandDeps,
  caller: Caller,
  id: EmailId,
  { request, storedBytes }: Asked,
  fingerprint: string | undefined,
): Promise<Prepared> => {
  const nowMs = deps.clock.now();
  const checked = checkRequest(request, nowMs, deps);
  const given = readAttachments(request.attachments ?? [], deps.limits);
  const known = await templateOf(deps, caller, request.templateId);
  const { revision, version, name, from: templateFrom } = resolveVersion(known.template, request.version ?? 'published');
  const { state: team } = await deps.team(teamStream(caller.teamId));
  if (team === undefined) throw new Error(`team ${caller.teamId} does not exist`);

  const at = isoMoment(nowMs);
  const { company } = team.settings;
  const variables = request.variables as JsonObject;
  const environment = { at: checked.scheduledAt ?? at, company };
  const render = await compiledTemplate(deps, known.id, revision);
  const budget = openBudget(deps.limits);
  const override = request.subject === undefined ? {} : { subject: request.subject };
  const rendered = render.check({ variables, environment, budget, ...override });
  refuseEmpty(rendered, given.length);
  const { subject, assetIds } = rendered;
  const from = checked.from ?? templateFrom ?? team.settings.defaultFrom;
  const hasAttachments = given.length > 0 || assetIds.length > 0;
  const stored = hasAttachments ? await storedBytes?.() : undefined;
  // A team that is at its bound has no document made.
  if (stored !== undefined) deps.attachmentClaims.check(caller.teamId, stored, 0);
  const { files, generated } = hasAttachments
    ? await prepareAttachments(deps, caller, given, { variables, environment, assetIds, budget })
    : noAttachments;
  const claim = stored === undefined || files.length === 0 ? undefined : deps.attachmentClaims.claim(caller.teamId, stored, sizeOf(files));
  const dueAtMs = checked.scheduledAt === undefined ? nowMs : Date.parse(checked.scheduledAt);
  const { attachments, keyId } = files.length === 0 ? nothingStored : await storeClaimed(deps, files, dueAtMs, claim);
  const waitMs = checked.scheduledAt === undefined ? Math.round(deps.backlog.waitMs(caller.teamId)) : 0;
  const accepted: EmailAccepted['data'] = {
    messageId: `<${id}@${from.email.slice(from.email.lastIndexOf('@') + 1)}>`,
    templateId: known.id,
    templateName: name,
    templateRevision: revision,
    templateVersion: version,
    priority: request.priority ?? 'normal',
    tags: request.tags ?? [],
    roles: [...checked.roles],
    attachmentCount: attachments.filter(({ ofTemplate }) => ofTemplate !== true).length,
    company,
    at,
    ...(files.length === 0 ? {} : { attachmentBytes: keptBytes(files, dueAtMs, deps.limits) }),
    ...(generated === undefined ? {} : { generated }),
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(waitMs <= TYPICAL_DELIVERY_MS ? {} : { expectedWaitMs: waitMs }),
  };
  const content = contentOf(request, checked, { from, subject, attachments });
  const [event] = emailDecider.decide({ type: 'AcceptEmail', accepted, scheduledAt: checked.scheduledAt, content }, undefined);
  return { event: event as EmailAccepted, keyId, claim };
};

type StoredAttachments = Readonly<{ attachments: EmailContent['attachments']; keyId: string | undefined }>;

const nothingStored: StoredAttachments = { attachments: [], keyId: undefined };

/** Puts the files under a new key; the room is free again where that fails. */
const storeClaimed = async (
  deps: CommandDeps,
  files: Parameters<typeof storeAttachments>[2],
  dueAtMs: number,
  claim: Claim | undefined,
): Promise<StoredAttachments> => {
  try {
    const { id, key } = await deps.eventLog.newKey();
    return { attachments: await storeAttachments(deps, key, files, dueAtMs), keyId: id };
  } catch (fault) {
    claim?.release();
    throw fault;
  }
};

/** Throws SUBJECT_EMPTY, or BODY_EMPTY where nothing is attached either. */
const refuseEmpty = ({ subject, isEmpty }: CheckedEmail, attachments: number): void => {
  if (subject === '') {
    throw new DomainError(
      'SUBJECT_EMPTY',
      'The subject is empty once its variables are filled in; give `subject`, or the variables it needs.',
      {
        errors: [{ field: 'subject', message: 'is empty once its variables are filled in' }],
      },
    );
  }
  if (isEmpty && attachments === 0) {
    throw new DomainError(
      'BODY_EMPTY',
      'The body shows neither text nor a picture once its variables are filled in, and nothing is attached; give the variables it needs, or attach a file.',
      { errors: [{ field: 'variables', message: 'leave the body empty' }] },
    );
  }
};

/** The sealed part of the event: what was asked for, and what was made ready for it. */
const contentOf = (
  request: SendEmailRequest,
  checked: CheckedRequest,
  ready: Pick<EmailContent, 'from' | 'subject' | 'attachments'>,
): EmailContent => ({
  from: ready.from,
  recipients: [...checked.recipients],
  subject: ready.subject,
  variables: request.variables,
  headers: checked.headers,
  metadata: request.metadata ?? {},
  attachments: ready.attachments,
  ...(checked.replyTo === undefined ? {} : { replyTo: checked.replyTo }),
  ...(request.subject === undefined ? {} : { subjectOverride: request.subject }),
});

const templateOf = async (deps: CommandDeps, caller: Caller, reference: string): Promise<KnownTemplate> => {
  const known = await findTemplate(deps, caller.teamId, reference);
  if (known === undefined) {
    throw new DomainError('ERR_TMPL_002', `There is no email template ${JSON.stringify(reference)}. GET /api/templates lists yours.`, {
      relatedInfo: { templateId: reference },
    });
  }
  return known;
};
