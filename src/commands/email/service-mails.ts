/**
 * Mails to people about their account: sent from templates that the first team may edit, and erased with the person.
 */
import type { EmailNeeds } from './needs.js';
import { firstTeam, systemCaller, ownedBy } from '../core/caller.js';
import { emailTemplates } from '../templates/email-templates.js';
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
import { sendConfidential } from './send.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { Recipient } from '../../domain/mime/address.js';
import { FIRST_USER_ADDRESS, type User } from '../../domain/people/user.js';

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
  'log-sealed',
] as const;

type AccountMailKind = (typeof accountMailKinds)[number];

/** `id`: the id of the email; a mail with the same id is sent only once. */
export type AccountMail = Readonly<{ kind: AccountMailKind; to: Recipient; variables: JsonObject; id?: EmailId }>;

type AccountNotice = Readonly<{
  kind: Extract<
    AccountMailKind,
    'password-changed' | 'address-changed' | 'second-factor-on' | 'second-factor-off' | 'new-sign-in'
  >;
  /** Values that tell this notice from others of its kind: two calls with equal values send one mail. */
  about: readonly (string | number | JsonObject | undefined)[];
  variables?: JsonObject;
}>;

type Samples = readonly CreateTemplateRequest[];

/**
 * The team that sends account mails, and the addresses they went to. `teamId` is undefined before there is a first
 * team.
 */
export type MailedTo = Readonly<{ teamId: TeamId | undefined; addresses: readonly string[] }>;

const OWN_MESSAGE_ID = /^<([0-9a-f-]{36})@/;

/** A mail whose SMTP dialogue is under way cannot be erased: so often, and at this interval, it is tried again. */
const LOOKS_MAX = 20;

const LOOK_EVERY_MS = 500;

/**
 * Sends a mail from a template of the first team, which neither pays for it nor sees its content. Its sender is that of
 * the service, not of the team. Sends none to the first user by a link, who has no address yet. Rejects as a send call
 * does.
 */
export const sendAccountMail = async (
  deps: EmailNeeds,
  { kind, to, variables, id }: AccountMail,
  cause: Cause,
): Promise<void> => {
  if (to.email === FIRST_USER_ADDRESS) return;
  const teamId = await firstTeam(deps);
  if (teamId === undefined) throw new Error('there is no first team, which sends the mails of accounts');
  const caller = systemCaller(teamId, 'system', cause.correlationId);
  await sendConfidential(
    deps,
    caller,
    {
      templateId: `account-${kind}`,
      sender: senderOf(deps),
      to: [to],
      variables,
      tracking: { opens: false, clicks: false },
      priority: 'high',
    },
    id,
  );
};

/** Throws SENDER_NOT_SET. */
const senderOf = ({ accountSender }: Pick<EmailNeeds, 'accountSender'>): Recipient => {
  if (accountSender !== undefined) return accountSender;
  throw new DomainError(
    'SENDER_NOT_SET',
    'Mails about accounts have no sender: set SEALPOST_ACCOUNT_SENDER to an address of a domain of yours.',
  );
};

/**
 * Tells a person by mail what changes in their account, in case somebody else does it. Call it before the event is
 * appended, when nothing else can refuse it: if the program dies in between, the repeated call sends no second mail.
 * The mail goes to the current address. If it cannot be sent, because the template is gone or too many mails wait, the
 * change goes on; a fault of a store rejects.
 */
export const tellPerson = async (
  deps: EmailNeeds,
  userId: UserId,
  { email, name = '' }: Pick<User, 'email' | 'name'>,
  { kind, about, variables = {} }: AccountNotice,
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

/** The link to a page of the account. Throws PUBLIC_URL_REQUIRED. */
export const accountLink = ({ linkBase }: Pick<EmailNeeds, 'linkBase'>, page: string, token: string): string => {
  if (linkBase === undefined)
    throw new DomainError(
      'PUBLIC_URL_REQUIRED',
      'Mails to people need the address of this service: set SEALPOST_PUBLIC_URL.',
    );
  return `${linkBase}/account/${page}?token=${token}`;
};

export const lacksAccountTemplates = async (deps: EmailNeeds, samples: Samples): Promise<boolean> => {
  const teamId = await firstTeam(deps);
  return teamId !== undefined && (await missingOf(deps, teamId, samples)).length > 0;
};

/** Creates the templates that the first team lacks. Safe to repeat, also by several processes at once. */
export const makeAccountTemplates = async (deps: EmailNeeds, samples: Samples): Promise<void> => {
  const teamId = await firstTeam(deps);
  if (teamId === undefined) return;
  for (const sample of await missingOf(deps, teamId, samples)) {
    try {
      await emailTemplates.create(deps, systemCaller(teamId, 'system', 'account-templates'), {
        ...sample,
        publish: true,
      });
    } catch (fault) {
      if (!(fault instanceof DomainError) || fault.code !== 'TEMPLATE_SLUG_TAKEN') throw fault;
    }
  }
};

const missingOf = async (deps: EmailNeeds, teamId: TeamId, samples: Samples): Promise<Samples> => {
  const missing: CreateTemplateRequest[] = [];
  for (const sample of samples)
    if ((await emailTemplates.find(deps, teamId, sample.slug ?? '')) === undefined) missing.push(sample);
  return missing;
};

/** All addresses that a person ever had, or asked for. None are known once their key is destroyed. */
export const mailedTo = async (deps: EmailNeeds, id: UserId): Promise<MailedTo> => {
  const addresses = new Set<string>();
  for (const { event } of await deps.eventLog.load(userStream(id))) {
    if (
      event.type === 'UserRegistered' ||
      event.type === 'UserAddressChangeAsked' ||
      event.type === 'UserAddressChanged'
    )
      if (event.sealed !== undefined) addresses.add(event.sealed.email);
  }
  return { teamId: await firstTeam(deps), addresses: [...addresses] };
};

/**
 * Erases mails that the service sent to a person; others that `mails` names stay. Safe to repeat. A mail whose dialogue
 * does not end in time is erased after its 30 days.
 */
export const eraseAccountMails = async (
  deps: EmailNeeds,
  { teamId }: MailedTo,
  mails: readonly EmailId[],
  { fence: _fence, ...cause }: Cause,
): Promise<void> => {
  if (teamId === undefined) return;
  const eraseOne = async (id: EmailId): Promise<boolean> => {
    const ofTeam = { ...cause, teamId };
    const guard = ownedBy(teamId, emailNotFound);
    try {
      const { state } = await handle(
        deps.eventLog,
        emailStream(id),
        emailDecider,
        { type: 'EraseEmail', at: cause.at },
        ofTeam,
        guard,
      );
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

/** Whether the mail with that Message-ID lets somebody in, so that nobody but its recipient may see it. */
export const isConfidentialMail = async (deps: EmailNeeds, messageId: string): Promise<boolean> => {
  const id = parseEmailId(OWN_MESSAGE_ID.exec(messageId.trim())?.[1] ?? '');
  if (id === undefined) return false;
  const { state } = await loadState(deps.eventLog, emailStream(id), emailDecider);
  return state?.accepted.confidential === true;
};
