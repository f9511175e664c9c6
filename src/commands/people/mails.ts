/** Mails of the service to people about their account, from templates that the first team may edit. */
import type { CommandDeps } from '../core/deps.js';
import { firstTeam, systemCaller, ownedBy } from '../core/caller.js';
import { createTemplate, findTemplate } from '../templates/templates.js';
import type { CreateTemplateRequest } from '../../api/templates/templates.js';
import { DomainError } from '../../domain/core/errors.js';
import {
  type TeamId,
  emailStream,
  userStream,
  type EmailId,
  type UserId,
  parseEmailId,
  emailIdOfFingerprint,
} from '../../domain/core/ids.js';
import { eraseStream } from '../core/erase.js';
import { handle, loadState } from '../core/handle.js';
import { emailDecider, emailNotFound } from '../../domain/email/decider.js';
import type { Cause } from '../../event-log/event-log.js';
import { sendConfidential } from '../email/send.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { Recipient } from '../../domain/mime/address.js';
import type { User } from '../../domain/people/user.js';

/* The templates of mails about accounts: made where the first team has none. */

type Samples = readonly CreateTemplateRequest[];

const missingOf = async (deps: CommandDeps, teamId: TeamId, samples: Samples): Promise<Samples> => {
  const missing: CreateTemplateRequest[] = [];
  for (const sample of samples) if ((await findTemplate(deps, teamId, sample.slug ?? '')) === undefined) missing.push(sample);
  return missing;
};

export const lacksAccountTemplates = async (deps: CommandDeps, samples: Samples): Promise<boolean> => {
  const teamId = await firstTeam(deps);
  return teamId !== undefined && (await missingOf(deps, teamId, samples)).length > 0;
};

/** Safe to repeat. A slug that is being taken by another process at this moment is left to it. */
export const makeAccountTemplates = async (deps: CommandDeps, samples: Samples): Promise<void> => {
  const teamId = await firstTeam(deps);
  if (teamId === undefined) return;
  for (const sample of await missingOf(deps, teamId, samples)) {
    try {
      await createTemplate(deps, systemCaller(teamId, 'system', 'account-templates'), { ...sample, publish: true });
    } catch (fault) {
      if (!(fault instanceof DomainError) || fault.code !== 'TEMPLATE_SLUG_TAKEN') throw fault;
    }
  }
};

/* The mails that the service sent to a person who goes: what they say, and to whom they went, is destroyed with the person. */

/** Under which team and to which addresses such mails went; no team where there is no first one. */
export type MailedTo = Readonly<{ teamId: TeamId | undefined; addresses: readonly string[] }>;

/** All addresses that a person ever had, or asked for; none once their key is destroyed. */
export const mailedTo = async (deps: CommandDeps, id: UserId): Promise<MailedTo> => {
  const addresses = new Set<string>();
  for (const { event } of await deps.eventLog.load(userStream(id))) {
    if (event.type === 'UserRegistered' || event.type === 'UserAddressChangeAsked' || event.type === 'UserAddressChanged')
      if (event.sealed !== undefined) addresses.add(event.sealed.email);
  }
  return { teamId: await firstTeam(deps), addresses: [...addresses] };
};

/** A dialogue with a host ends within that time, or is waited for no longer. */
const LOOKS_MAX = 20;
const LOOK_EVERY_MS = 500;

/** In: hints; what is no such mail stays. Safe to repeat. A mail whose dialogue does not end meanwhile goes after its 30 days. */
export const eraseAccountMails = async (
  deps: CommandDeps,
  { teamId }: MailedTo,
  mails: readonly EmailId[],
  { fence: _fence, ...cause }: Cause,
): Promise<void> => {
  if (teamId === undefined) return;
  const eraseOne = async (id: EmailId): Promise<boolean> => {
    const ofTeam = { ...cause, teamId };
    const guard = ownedBy(teamId, emailNotFound);
    try {
      const { state } = await handle(deps.eventLog, emailStream(id), emailDecider, { type: 'EraseEmail', at: cause.at }, ofTeam, guard);
      if ((state?.archivedAt ?? null) === null) return false;
    } catch (fault) {
      if (fault instanceof DomainError && fault.code === 'EMAIL_NOT_FOUND') return true;
      throw fault;
    }
    await eraseStream(deps, emailStream(id));
    return true;
  };
  const { signal } = new AbortController();
  let left = mails;
  for (let look = 0; left.length > 0 && look < LOOKS_MAX; look += 1) {
    if (look > 0) await deps.clock.sleep(LOOK_EVERY_MS, signal);
    const open: EmailId[] = [];
    for (const id of left) if (!(await eraseOne(id))) open.push(id);
    left = open;
  }
};

/* Which mails say what lets somebody in, and are shown to nobody but their recipients. */

const OWN_MESSAGE_ID = /^<([0-9a-f-]{36})@/;

/** In: the Message-ID of a mail that has left. Out: false of a mail that is none of this service's, too. */
export const isConfidentialMail = async (deps: CommandDeps, messageId: string): Promise<boolean> => {
  const id = parseEmailId(OWN_MESSAGE_ID.exec(messageId.trim())?.[1] ?? '');
  if (id === undefined) return false;
  const { state } = await loadState(deps.eventLog, emailStream(id), emailDecider);
  return state?.accepted.confidential === true;
};

/** Each has a template with the slug `account-<kind>`. */
export const accountMailKinds = [
  'verify-address',
  'address-in-use',
  'reset-password',
  'change-address',
  'address-change-asked',
  'address-changed',
  'password-changed',
  'second-factor-on',
  'second-factor-off',
  'new-sign-in',
  'invitation',
  'webhook-disabled',
] as const;
type AccountMailKind = (typeof accountMailKinds)[number];

/** `id`: of the email, for a mail that is sent once however often it is begun. */
export type AccountMail = Readonly<{ kind: AccountMailKind; to: Recipient; variables: JsonObject; id?: EmailId }>;

/** Sent in the name of the first team, which neither pays for it nor sees what it says. Rejects as a send call does. */
export const sendAccountMail = async (deps: CommandDeps, { kind, to, variables, id }: AccountMail, cause: Cause): Promise<void> => {
  const teamId = await firstTeam(deps);
  if (teamId === undefined) throw new Error('there is no first team, which sends the mails of accounts');
  const caller = systemCaller(teamId, 'system', cause.correlationId);
  await sendConfidential(
    deps,
    caller,
    {
      templateId: `account-${kind}`,
      to: [to],
      variables,
      tracking: { opens: false, clicks: false },
      priority: 'high',
    },
    id,
  );
};

/** What links of such mails begin with. Throws PUBLIC_URL_REQUIRED. */
export const accountLink = ({ linkBase }: Pick<CommandDeps, 'linkBase'>, page: string, token: string): string => {
  if (linkBase === undefined)
    throw new DomainError('PUBLIC_URL_REQUIRED', 'Mails to people need the address of this service: set SEALPOST_PUBLIC_URL.');
  return `${linkBase}/account/${page}?token=${token}`;
};

/* Mails that tell a person what is done to their account, so that they hear of it where somebody else does it. */

type Told = Readonly<{
  kind: Extract<AccountMailKind, 'password-changed' | 'address-changed' | 'second-factor-on' | 'second-factor-off' | 'new-sign-in'>;
  /** What makes it this one, and not another of the kind. */
  about: readonly (string | number | JsonObject | undefined)[];
  variables?: JsonObject;
}>;

/**
 * To be called before the fact is appended, by whoever is sure of all else: where the program dies in between, the call that does it again
 * sends no second mail. Goes to the address of before. Where no mail can be sent, because the template is gone or too many wait, it is done
 * all the same; a fault of a store rejects.
 */
export const tellPerson = async (
  deps: CommandDeps,
  userId: UserId,
  { email, name = '' }: Pick<User, 'email' | 'name'>,
  { kind, about, variables = {} }: Told,
  cause: Cause,
): Promise<void> => {
  if (email === undefined || (await firstTeam(deps)) === undefined) return;
  const id = emailIdOfFingerprint(deps.keys.fingerprint('email id', JSON.stringify([kind, userId, ...about])));
  const when = `${cause.at.slice(0, 10)} ${cause.at.slice(11, 16)} UTC`;
  try {
    await sendAccountMail(deps, { kind, to: { email }, variables: { name, when, ...variables }, id }, cause);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
  }
};
