/** What a caller may do about an email that has not left: give it another time, or cancel it. */
import type { CancelEmailResponse, RescheduleEmailRequest, RescheduleEmailResponse } from '../../api/calling-back.js';
import { openBudget } from '../../domain/rendering/budget.js';
import { emailDecider } from '../../domain/email/decider.js';
import type { EmailContent } from '../../domain/email/events.js';
import { emailNotFound, keptUntil } from '../../domain/email/requests.js';
import type { Email } from '../../domain/email/state.js';
import { FileDamaged, KeyMissing } from '../../domain/core/errors.js';
import { assertDefined, emailStream, parseTemplateId, type EmailId, type StreamName } from '../../domain/core/ids.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { Company } from '../../domain/rendering/scope/environment.js';
import { temporaryUntil } from '../documents/storage.js';
import type { Caller } from '../core/caller.js';
import { checkSchedule } from './request.js';
import { handle, loadState } from '../core/handle.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { cancelResponse, rescheduleResponse } from './answers.js';
import type { Answer, Idempotency } from '../core/idempotency.js';
import { handleKeyed } from '../core/keyed-command.js';
import { changeableBy } from '../core/test-keys.js';
import { refuseEmpty } from './acceptance.js';
import { compiledTemplate } from '../templates/templates.js';

/** Resolves when the new time is durable. Of several calls at once the last that is recorded counts. */
export const rescheduleEmail = async (
  deps: CommandDeps,
  caller: Caller,
  id: EmailId,
  request: RescheduleEmailRequest,
): Promise<RescheduleEmailResponse> => {
  const cause = causeOf(deps, caller);
  const scheduledAt = checkSchedule(request.scheduledAt, Date.parse(cause.at), deps.limits);
  const stream = emailStream(id);
  const guard = changeableBy(caller, emailNotFound);
  const loaded = await loadState(deps.eventLog, stream, emailDecider);
  guard(loaded);
  const until = temporaryUntil(Date.parse(scheduledAt), deps.limits);
  const command = { type: 'RescheduleEmail' as const, at: cause.at, scheduledAt, temporaryUntil: until };
  const email = loaded.state!;
  // Refused before anything is done for it; another may still be faster.
  if (emailDecider.decide({ ...command, subject: '' }, email).length === 0) return rescheduleResponse(id, email);
  const { subject, content } = await asOf(deps, stream, email, scheduledAt);
  await prolong(deps, email, content, until);
  const { state } = await handle(deps.eventLog, stream, emailDecider, { ...command, subject }, cause, guard);
  return rescheduleResponse(id, state!);
};

/** What the email says at that time. Rejects as the send call does where its template cannot be filled in then. */
const asOf = async (
  deps: CommandDeps,
  stream: StreamName,
  { accepted, content }: Email,
  scheduledAt: string,
): Promise<Readonly<{ subject: string; content: EmailContent }>> => {
  if (content === undefined) throw new KeyMissing(stream);
  const templateId = assertDefined(parseTemplateId(accepted.templateId), 'template id');
  const render = await compiledTemplate(deps, templateId, accepted.templateRevision, content);
  const rendered = render.check({
    variables: content.variables as JsonObject,
    environment: { at: scheduledAt, company: accepted.company as Company },
    budget: openBudget(deps.limits),
    ...(content.subjectOverride === undefined ? {} : { subject: content.subjectOverride }),
  });
  refuseEmpty(rendered, content.attachments.length);
  return { subject: rendered.subject, content };
};

/** Generated files are kept from the sending on. Of a file that is kept as long as the email putting it again changes nothing. */
const prolong = async (
  { files }: Pick<CommandDeps, 'files'>,
  email: Email,
  { attachments }: EmailContent,
  until: string,
): Promise<void> => {
  const kept = keptUntil(email);
  if (kept === undefined || kept >= until) return;
  for (const { file } of attachments) {
    // One that is gone or damaged is a matter of the delivery.
    const bytes = await files.get(file).catch((fault: unknown) => {
      if (fault instanceof FileDamaged) return undefined;
      throw fault;
    });
    if (bytes !== undefined) await files.put(bytes, { expiresAt: until });
  }
};

/** Resolves when it is certain that the email does not leave. */
export const cancelEmail = async (
  deps: CommandDeps,
  caller: Caller,
  id: EmailId,
  idempotency?: Idempotency,
): Promise<Answer<CancelEmailResponse>> => {
  const cause = causeOf(deps, caller);
  const { state, replayed } = await handleKeyed(deps, emailStream(id), emailDecider, {
    command: (key) => ({ type: 'CancelEmail' as const, at: cause.at, ...key }),
    earlier: ({ cancellation }, key) => (cancellation?.idempotencyKey === key ? cancellation : undefined),
    idempotency,
    cause,
    guard: changeableBy(caller, emailNotFound),
  });
  const cancellation = assertDefined(state.cancellation, 'cancellation');
  return { body: cancelResponse(id, cancellation), replayed };
};
