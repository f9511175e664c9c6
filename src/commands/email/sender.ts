/**
 * Settles the sender of an email and the company that it shows, so that no relay gets the sample ones of the first
 * start.
 */
import type { EmailNeeds } from './needs.js';
import { firstTeam } from '../core/caller.js';
import { assertMaySend, domainOfAddress } from '../domains/sender-domains.js';
import { DomainError } from '../../domain/core/errors.js';
import { teamStream, type TeamId } from '../../domain/core/ids.js';
import type { Recipient } from '../../domain/mime/address.js';
import type { Brand, Company } from '../../domain/rendering/scope/constants.js';
import type { TeamSettings } from '../../domain/teams/events.js';
import { companyOf, isSampleCompany, isSampleSender, emptyCompany, type Team } from '../../domain/teams/state.js';

type RelayDeps = Pick<EmailNeeds, 'hasRelay'>;

/**
 * In: the sender that the call or the template names; without one it is that of the team. Rejects with SENDER_NOT_SET
 * for the sample sender where a relay would get it, and with SENDER_NOT_ALLOWED.
 */
export const settleSender = async (
  deps: RelayDeps & Parameters<typeof assertMaySend>[0],
  teamId: TeamId,
  wanted: Recipient | null | undefined,
  settings: TeamSettings,
): Promise<Recipient> => {
  const from = wanted ?? settings.defaultFrom;
  assertOwnSender(deps, from);
  await assertMaySend(deps, teamId, from);
  return from;
};

/** Throws SENDER_NOT_SET for the sample sender where a relay would get the mail. */
export const assertOwnSender = ({ hasRelay }: RelayDeps, { email }: Recipient): void => {
  if (hasRelay !== true || !isSampleSender(email)) return;
  throw new DomainError(
    'SENDER_NOT_SET',
    `The team has no sender of its own: ${email} is a sample, which no relay gets. Name a sender of yours with PATCH /api/teams/:id (defaultFrom), ` +
      "with `sealpost team set --from 'Example <hello@example.com>'` for the first team, or as `from` of the call.",
    { errors: [{ field: 'from', message: 'must be an address of a domain of yours, not that of the sample sender' }] },
  );
};

/**
 * The company and the brand that an email from that sender shows. A relay gets the domain of the sender in place of the sample
 * company; the sender's name would be personal, and events hold the company in clear.
 */
export const companyShown = (
  { hasRelay }: RelayDeps,
  team: Pick<Team, 'settings' | 'brand'>,
  { email }: Recipient,
): Company & Brand => {
  const { company } = team.settings;
  if (hasRelay !== true || !isSampleCompany(company)) return team.brand === undefined ? company : companyOf(team);
  const name = domainOfAddress(email);
  // Invoices and payment codes name the legal name, and are refused without one.
  return { ...emptyCompany, name, legalName: name, ...team.brand };
};

/** Whether the first team cannot send by the relay, because its sender is the sample. */
export const lacksSender = async (deps: RelayDeps & Pick<EmailNeeds, 'eventLog' | 'team'>): Promise<boolean> => {
  const teamId = deps.hasRelay === true ? await firstTeam(deps) : undefined;
  if (teamId === undefined) return false;
  const { state } = await deps.team(teamStream(teamId));
  return state !== undefined && isSampleSender(state.settings.defaultFrom.email);
};
