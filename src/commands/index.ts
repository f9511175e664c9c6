/**
 * Every command of every capability, bound once to its needs: what HTTP calls. Each may reject with DomainError;
 * nothing is written then.
 */
import { accessCommands } from './access/index.js';
import { recipientCommands } from './recipients/index.js';
import { domainCommands } from './domains/index.js';
import { billingCommands } from './billing/index.js';
import { templateCommands } from './templates/index.js';
import { documentCommands } from './documents/index.js';
import { keyCommands } from './keys/index.js';
import { appCommands, oauthCommands } from './apps/index.js';
import { emailCommands } from './email/index.js';
import { bulkCommands } from './bulk/index.js';
import { webhookCommands } from './webhooks/index.js';
import { teamCommands } from './teams/index.js';
import { peopleCommands } from './people/index.js';
import { approvalCommands } from './approvals/index.js';
import { auditCommands } from './audit/index.js';
import { privacyCommands } from './privacy/index.js';
import { authenticate, permissionsInSession } from './authenticate.js';
import type { Codes, Command, CommandTable } from './core/command.js';
import type { CommandNeeds } from './needs.js';

const commands = {
  authenticate: {
    run: authenticate,
    codes: [
      'INVALID_API_KEY',
      'API_KEY_NOT_FOUND',
      'API_KEY_REVOKED',
      'API_KEY_EXPIRED',
      'API_KEY_DISABLED',
      'TEAM_DELETED',
      'INVALID_TOKEN',
      'TOKEN_EXPIRED',
      'SESSION_ENDED',
      'TEAM_REQUIRED',
      'TEAM_NOT_FOUND',
      'SECOND_FACTOR_REQUIRED',
    ],
  },
  permissionsInSession: { run: permissionsInSession, codes: [] },
  ...accessCommands,
  ...recipientCommands,
  ...domainCommands,
  ...billingCommands,
  ...templateCommands,
  ...documentCommands,
  ...keyCommands,
  ...appCommands,
  ...emailCommands,
  ...bulkCommands,
  ...webhookCommands,
  ...teamCommands,
  ...peopleCommands,
  ...auditCommands,
  ...privacyCommands,
  ...approvalCommands,
} as const satisfies CommandTable<CommandNeeds>;

type Table = typeof commands;

/** A command without its needs. */
type Bound<Run> = Run extends (needs: never, ...args: infer Args) => infer Answer ? (...args: Args) => Answer : never;

/** The commands as functions of what the caller gives. */
export type Commands = { readonly [Name in keyof Table]: Bound<Table[Name]['run']> };

/** The commands behind the endpoints of OAuth. */
export type OAuth = { readonly [Name in keyof typeof oauthCommands]: Bound<(typeof oauthCommands)[Name]> };

type Run = Command<CommandNeeds>['run'];

const bound = (runs: readonly (readonly [string, Run])[], needs: CommandNeeds): object =>
  Object.fromEntries(runs.map(([name, run]) => [name, run.bind(undefined, needs)]));

const listed = Object.entries<Command<CommandNeeds>>(commands);

export const makeCommands = (needs: CommandNeeds): Commands =>
  bound(
    listed.map(([name, { run }]) => [name, run]),
    needs,
  ) as Commands;

export const openOAuth = (needs: CommandNeeds): OAuth => bound(Object.entries<Run>(oauthCommands), needs) as OAuth;

/** The codes that each command may reject with. */
export const commandCodes = Object.fromEntries(listed.map(([name, { codes }]) => [name, codes])) as Readonly<
  Record<keyof Commands, Codes>
>;

/** Commands that append once, after all that may fail before: one that rejects with StoreAway has changed nothing. */
export const appendingOnce: ReadonlySet<string> = new Set(
  listed.filter(([, { appendsOnce }]) => appendsOnce).map(([name]) => name),
);
