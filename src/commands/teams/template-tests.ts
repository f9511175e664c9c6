/** Tests of email templates: a mail of a draft or a version to people of the team, which costs and counts nothing. */
import type { SendEmailResponse } from '../../api/email.js';
import type { TestTemplateRequest } from '../../api/templates/unsaved.js';
import { DomainError, invalid, type FieldError } from '../../domain/core/errors.js';
import { teamStream, userStream, type UserId } from '../../domain/core/ids.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { Limits } from '../../domain/core/limits.js';
import { parseAddress, type Recipient } from '../../domain/mime/address.js';
import { userDecider } from '../../domain/people/decider.js';
import type { EmailTemplateContent } from '../../domain/rendering/content.js';
import { previewVariables } from '../../domain/rendering/fill/variables.js';
import { textInLanguage } from '../../domain/rendering/languages.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import { findVersion } from '../../domain/templates/decider.js';
import { templateRules } from '../../domain/templates/email-template.js';
import { isLonger } from '../../shared/text.js';
import type { Caller } from '../core/caller.js';
import { loadState } from '../core/handle.js';
import type { StoredBytes } from '../email/acceptance.js';
import { invalidFields } from '../email/request.js';
import { sendOnce } from '../email/send.js';
import { contentOf, draftAt, emailTemplates } from '../templates/email-templates.js';
import { requireLanguage } from '../templates/language.js';
import type { TeamNeeds } from './needs.js';

/** Stands before the subject of a test. */
const MARK = '[Test] ';

/**
 * The subject of the template in the language of the call, marked where there is room for it. Its `{{…}}` are filled as
 * those of the template.
 */
const markedSubject = (
  content: EmailTemplateContent,
  language: CallLanguage | undefined,
  { subjectCharsMax }: Limits,
): string => {
  const subject = textInLanguage(content.subject, content, language);
  return isLonger(`${MARK}${subject}`, subjectCharsMax) ? subject : `${MARK}${subject}`;
};

/**
 * Resolves when the mail is durable. Default values stand in for variables that are not given, as in a preview. Without
 * `to` the mail goes to the caller. Rejects with TEMPLATE_NOT_FOUND, ADDRESS_NOT_VERIFIED, VALIDATION_ERROR for an
 * address of nobody in the team, and with the codes of the send call.
 */
export const testTemplate = async (
  deps: TeamNeeds,
  caller: Caller,
  reference: string,
  { to, variables, version = 'draft', ...spoken }: TestTemplateRequest,
  storedBytes?: StoredBytes,
): Promise<SendEmailResponse> => {
  const language = requireLanguage(spoken);
  const { id, template } = await emailTemplates.mustFind(deps, caller, reference);
  const { revision } = findVersion(templateRules, template, version);
  const content = contentOf(await draftAt(deps, id, revision));
  const request = {
    templateId: id,
    version,
    to: to === undefined ? [await ownAddress(deps, caller)] : await addressesOfTeam(deps, caller, to),
    subject: markedSubject(content, language, deps.limits),
    variables: previewVariables(content.variables, (variables ?? {}) as JsonObject),
    tracking: { opens: false, clicks: false },
    ...spoken,
  };
  const orderOf = async () => ({ request, storedBytes, isTrial: true as const });
  const { body } = await sendOnce(deps, caller, 'POST /api/templates/:id/test', orderOf, undefined);
  return body;
};

const ownAddress = async (deps: TeamNeeds, { user }: Caller): Promise<Recipient> => {
  if (user === undefined)
    throw invalid('request body', 'to', 'is required: an API key or an app has no address of its own');
  const email = await verifiedAddress(deps, user.id);
  if (email === undefined)
    throw new DomainError(
      'ADDRESS_NOT_VERIFIED',
      'Your own address is not verified; open the link that was sent to it.',
    );
  return { email };
};

/** undefined: the person has no address that is verified. */
const verifiedAddress = async ({ eventLog }: TeamNeeds, id: UserId): Promise<string | undefined> => {
  const { state } = await loadState(eventLog, userStream(id), userDecider);
  return state === undefined || state.isErased || !state.isVerified ? undefined : (state.email ?? undefined);
};

/** People that are loaded at once. */
const AT_ONCE = 20;

/** The addresses, each of which must be that of a member. */
const addressesOfTeam = async (deps: TeamNeeds, { teamId }: Caller, to: readonly Recipient[]): Promise<Recipient[]> => {
  const members = [...((await deps.team(teamStream(teamId))).state?.members?.keys() ?? [])];
  const known = new Set<string>();
  for (let from = 0; from < members.length; from += AT_ONCE) {
    const found = await Promise.all(members.slice(from, from + AT_ONCE).map((id) => verifiedAddress(deps, id)));
    for (const address of found) if (address !== undefined) known.add(address.toLowerCase());
  }
  const faults = to.flatMap(({ email }, place): FieldError[] => {
    const parsed = parseAddress(email);
    return parsed.ok && known.has(parsed.address.toLowerCase())
      ? []
      : [{ field: `to[${place}].email`, message: 'is no verified address of a member of the team' }];
  });
  if (faults.length > 0) throw invalidFields(faults);
  return [...to];
};
