/** Mails of the service to people about their account, from templates that the first team may edit. */
import type { CommandDeps } from '../core/deps.js';
import { firstTeam, systemCaller } from '../core/instance.js';
import { sendConfidential } from '../email/send.js';
import { DomainError } from '../../domain/core/errors.js';
import type { EmailId } from '../../domain/core/ids.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { Recipient } from '../../domain/mime/recipient.js';
import type { Cause } from '../../event-log/event-log.js';

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
export type AccountMailKind = (typeof accountMailKinds)[number];

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
