/** Accepts one email: checks all, renders once to check, pins what the mail depends on, and appends it. */
import type { Caller } from './caller.js';
import { fingerprintOf, isSameBody, keyReused, type Answer, type Idempotency } from './idempotency.js';
import { isoMoment } from './remembered.js';
import { checkRequest } from './check-request.js';
import { causeOf, type CommandDeps } from './deps.js';
import { readAttachments } from './given-attachments.js';
import { findTemplate } from './templates.js';
import { sendResponse } from './email-answers.js';
import { makeEmail, type EmailOrder, type MadeEmail, type PinnedTemplate, type StoredBytes } from './email-making.js';
import type { SendEmailRequest, SendEmailResponse } from '../api/emails.js';
import { AppendUnknown, DomainError, WrongExpectedRevision } from '../domain/errors.js';
import { startOf } from '../event-log/event-log.js';
import { emailIdOfFingerprint, emailStream, assertDefined, parseEmailId, teamStream, type EmailId } from '../domain/ids.js';
import type { JsonObject } from '../domain/json.js';
import { resolveVersion, type ResolvedVersion } from '../domain/template/state.js';

const ENDPOINT = 'POST /api/emails/send';

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
  const cause = causeOf(deps, caller, event.data.at);
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

const prepare = async (
  deps: CommandDeps,
  caller: Caller,
  id: EmailId,
  { request, storedBytes }: Asked,
  fingerprint: string | undefined,
): Promise<MadeEmail> => {
  const nowMs = deps.clock.now();
  const checked = checkRequest(request, nowMs, deps);
  const given = readAttachments(request.attachments ?? [], deps.limits);
  const template = await templateOf(deps, caller, request);
  const ofTeam = deps.team(teamStream(caller.teamId));
  const { state: team } = ofTeam instanceof Promise ? await ofTeam : ofTeam;
  if (team === undefined) throw new Error(`team ${caller.teamId} does not exist`);
  const order: EmailOrder = {
    ...checked,
    id,
    teamId: caller.teamId,
    at: isoMoment(nowMs),
    template,
    company: team.settings.company,
    from: checked.from ?? template.from ?? team.settings.defaultFrom,
    subject: request.subject,
    variables: request.variables as JsonObject,
    metadata: (request.metadata ?? {}) as JsonObject,
    priority: request.priority ?? 'normal',
    tags: request.tags ?? [],
    given,
    fingerprint,
    waitMs: checked.scheduledAt === undefined ? Math.round(deps.backlog.waitMs(caller.teamId)) : 0,
  };
  return makeEmail(deps, order, storedBytes);
};

/** The revision that a call names, and the sender that it has. Rejects with ERR_TMPL_002 and the codes of its version. */
export const templateOf = async (
  deps: CommandDeps,
  { teamId }: Pick<Caller, 'teamId'>,
  { templateId, version: wanted = 'published' }: Pick<SendEmailRequest, 'templateId' | 'version'>,
): Promise<PinnedTemplate & Pick<ResolvedVersion, 'from'>> => {
  const known = await findTemplate(deps, teamId, templateId);
  if (known === undefined) {
    throw new DomainError('ERR_TMPL_002', `There is no email template ${JSON.stringify(templateId)}. GET /api/templates lists yours.`, {
      relatedInfo: { templateId },
    });
  }
  const { revision, version, name, from } = resolveVersion(known.template, wanted);
  return { id: known.id, name, revision, version, from };
};
