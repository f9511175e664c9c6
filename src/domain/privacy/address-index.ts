/** Where an address may stand: what read models tell, which may lag. */
import type { BatchId, EmailId, TeamId, WebhookId } from '../core/ids.js';

export type AddressIndex = Readonly<{
  /**
   * The emails of a team that have the address as a recipient, the newest first, some at a time; at least one page, and after the last none.
   * Archived emails have no address any more. In: the address in the form in which emails have it; letter case does not count.
   */
  emailsOfAddress: (teamId: TeamId, address: string) => AsyncIterable<Readonly<{ ids: readonly EmailId[]; isLast: boolean }>>;
  /** The bulk sends that may still hold the addresses of their recipients, each once. */
  openBatches: (teamId: TeamId) => Promise<readonly BatchId[]>;
  /** The webhook subscriptions of a team. */
  webhooksOfTeam: (teamId: TeamId) => Promise<readonly WebhookId[]>;
}>;
