import type { EmailId, OAuthGrantId, SessionId, TeamId } from '../../domain/core/ids.js';

/** Where a person is known, deleted teams among them: as far as the read models have it. */
export type UserTraces = Readonly<{
  teams: readonly TeamId[];
  sessions: readonly SessionId[];
  grants: readonly OAuthGrantId[];
  /** Mails of the service itself. */
  mails: readonly EmailId[];
}>;

/** Under which team, and to which addresses, such mails went. */
export type AddressesOfTeam = Readonly<{ teamId: TeamId | undefined; addresses: readonly string[] }>;
