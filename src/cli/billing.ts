/**
 * `sealpost credits …` and `sealpost team billing`: what a team may send, how it is billed, and what is added to its
 * credits.
 */
import { addCredits, getBilling } from '../commands/billing/billing.js';
import { systemCaller } from '../commands/core/caller.js';
import { changeBilling, type UsedInMonth } from '../commands/teams/teams.js';
import type { BillingChanges } from '../domain/teams/decider.js';
import { emailsProjection } from '../projections/bulk/emails.js';
import { makeQueries } from '../projections/queries.js';
import type { UsedOfDay } from '../projections/query-types.js';
import { GRANT_MAX } from '../api/billing.js';
import { isPlanName, planNames, BLOCKS_MAX } from '../domain/billing/plans.js';
import { isoTime } from '../domain/core/time.js';
import type { TeamId } from '../domain/core/ids.js';
import type { Engine } from '../service/engine.js';
import { print } from './core/output.js';
import { withTeam } from './core/engine.js';

export type BillingOptions = Readonly<{ by?: string; plan?: string; emailsPerMonth?: string }>;
export type AddOptions = Readonly<{ note?: string; json?: boolean }>;

const billings = ['credits', 'plan', 'unmetered'] as const;

export const showBalance = ({ json = false }: Pick<AddOptions, 'json'>): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const { billing, plan, quota } = await getBilling(engine, { teamId });
    const { month, emailQuota, attachmentQuota, creditsRemaining, overage } = quota;
    if (json)
      return print(
        JSON.stringify({
          billing,
          plan,
          month,
          emails: emailQuota,
          attachments: attachmentQuota,
          creditsRemaining,
          overage,
        }),
      );
    print(`Billing  ${billing}${plan === null ? '' : `, plan ${plan}`}`);
    if (!quota.isMetered) return print('The team is not metered: it has neither credits nor a quota.');
    if (creditsRemaining !== null) print(`Credits  ${grouped(creditsRemaining)} left`);
    const quotaText = emailQuota.limit === null ? 'no quota' : `quota ${grouped(emailQuota.limit)}`;
    print(
      `${month}  ${countedOf(emailQuota.used, 'email')} (${quotaText}), ${countedOf(attachmentQuota.used, 'document')}`,
    );
    if (overage.emails > 0) print(`Overage  ${countedOf(overage.emails, 'email')} beyond the quota`);
  });

export const grantCredits = (credits: string, options: AddOptions): Promise<void> =>
  withTeam((engine, teamId) =>
    add(engine, teamId, { credits: wholeNumber('<credits>', credits, GRANT_MAX), ...noted(options) }, options.json),
  );

export const buyCredits = (blocks: string, options: AddOptions): Promise<void> =>
  withTeam((engine, teamId) =>
    add(engine, teamId, { blocks: wholeNumber('<blocks>', blocks, BLOCKS_MAX), ...noted(options) }, options.json),
  );

/** All that is left is taken away, as after a year without use. */
export const resetCredits = (): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const { quota } = await getBilling(engine, { teamId });
    const cause = { teamId, actor: 'cli', correlationId: 'cli', causationId: 'cli', at: isoTime(engine.clock.now()) };
    await engine.credits.change(teamId, { type: 'Reset', at: cause.at }, cause);
    print(`${countedOf(quota.creditsRemaining ?? 0, 'credit')} taken away; 0 are left now.`);
  });

const add = async (
  engine: Engine,
  teamId: TeamId,
  request: Parameters<typeof addCredits>[2],
  json = false,
): Promise<void> => {
  const added = await addCredits(engine, systemCaller(teamId, 'cli', 'cli'), request);
  if (json) return print(JSON.stringify(added));
  const price = added.priceCents === null ? '' : ` for ${dollars(added.priceCents)} ${added.currency ?? ''}`;
  const left = added.creditsRemaining === null ? '' : `; ${grouped(added.creditsRemaining)} are left now`;
  print(`${countedOf(added.credits, 'credit')} added${price}${left}.`);
};

export const setBilling = (options: BillingOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const cause = { teamId, actor: 'cli', correlationId: 'cli', causationId: 'cli', at: isoTime(engine.clock.now()) };
    const { billing, plan, emailsPerMonth } = await changeBilling(
      engine,
      teamId,
      billingOf(options),
      cause,
      usedInMonth(engine, teamId),
    );
    print(JSON.stringify({ billing, plan: plan ?? null, emailsPerMonth: emailsPerMonth ?? null }, undefined, 2));
  });

type UsageDeps = Pick<Engine, 'eventLog' | 'readModels' | 'keys' | 'clock' | 'limits'>;

/** Counted from the read models, once they hold all emails that the team has when it is asked. */
export const usedInMonth =
  (engine: UsageDeps, teamId: TeamId): UsedInMonth =>
  async (month) => {
    await untilCounted(engine, teamId);
    const queries = makeQueries({ ...engine, awaitOwnWrites: async () => {} });
    const days = await queries.usedByDay(teamId, `${month}-01`, `${month}-31`);
    const sum = (count: (day: UsedOfDay) => number): number => days.reduce((all, day) => all + count(day), 0);
    return { emails: sum(({ emails }) => emails), attachments: sum(({ documents }) => documents) };
  };

const LOOK_EVERY_MS = 100;
const LOOKS_MAX = 300;

/**
 * Resolves when the counts of days hold every email that the team has now. Rejects if nothing brings them up to date.
 */
const untilCounted = async (engine: UsageDeps, teamId: TeamId): Promise<void> => {
  const head = await engine.eventLog.head();
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    if (!(await hasUncounted(engine, teamId, head))) return;
    await engine.clock.sleep(LOOK_EVERY_MS, new AbortController().signal);
  }
  throw new Error(
    'The emails that were sent this month are not all counted yet: start the service (sealpost serve), which counts them, then repeat this.',
  );
};

/** Whether the log has events of the team's emails, up to that position, that the counts of days do not hold. */
const hasUncounted = async (engine: UsageDeps, teamId: TeamId, head: number): Promise<boolean> => {
  const { name, collections } = emailsProjection({ retentionMs: 0, archiveMs: 0 });
  const { position: counted } = await (await engine.readModels.projection(name, collections)).checkpoint();
  if (counted >= head) return false;
  for await (const { events, position } of engine.eventLog.readAll(counted, {
    kinds: ['email', 'batch'],
    decrypt: [],
  })) {
    if (events.some((event) => event.metadata.teamId === teamId && event.position <= head)) return true;
    if (position >= head) return false;
  }
  return false;
};

const billingOf = ({ by, plan, emailsPerMonth }: BillingOptions): BillingChanges => {
  const billing = billings.find((known) => known === by);
  if (by !== undefined && billing === undefined) throw new Error(`--by ${by} is not one of ${billings.join(', ')}`);
  if (plan !== undefined && plan !== 'none' && !isPlanName(plan))
    throw new Error(`--plan ${plan} is not one of ${planNames.join(', ')}, none`);
  return {
    ...(billing === undefined ? {} : { billing }),
    ...(plan === undefined ? {} : { plan: isPlanName(plan) ? plan : null }),
    ...(emailsPerMonth === undefined
      ? {}
      : {
          emailsPerMonth:
            emailsPerMonth === 'plan' ? null : wholeNumber('--emails-per-month', emailsPerMonth, GRANT_MAX),
        }),
  };
};

/** Digits alone: `0x10` and `1e3` would be numbers that nobody meant. */
const wholeNumber = (what: string, text: string, max: number): number => {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number) || number < 1 || number > max)
    throw new Error(`${what} ${text} is not a whole number from 1 to ${max}`);
  return number;
};

const countedOf = (count: number, what: string): string => `${grouped(count)} ${what}${count === 1 ? '' : 's'}`;
const grouped = (count: number): string => count.toLocaleString('en-US');
const dollars = (cents: number): string => (cents / 100).toFixed(2);

const noted = ({ note }: AddOptions) => (note === undefined ? {} : { note });
