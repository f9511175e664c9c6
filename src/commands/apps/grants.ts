/** What a person does with what they granted. */
import type { Caller } from '../core/caller.js';
import type { CommandDeps } from '../core/deps.js';
import { endGrant, openGrant } from './tokens.js';
import type { Deleted } from '../../api/core/common.js';
import { DomainError } from '../../domain/core/errors.js';
import type { OAuthGrantId } from '../../domain/core/ids.js';

export const grantNotFound = (): DomainError =>
  new DomainError('OAUTH_GRANT_NOT_FOUND', 'There is no grant of yours with this id. GET /api/users/me/grants lists them.');

/** The app is let in no more. What another granted is refused like what nobody did. */
export const revokeGrant = async (deps: CommandDeps, caller: Caller, id: OAuthGrantId): Promise<Deleted> => {
  const open = await openGrant(deps, id);
  if (open === undefined || caller.user === undefined || open.grant.userId !== caller.user.id || open.grant.ended !== undefined)
    throw grantNotFound();
  await endGrant(deps, open, 'by-person', { requestId: caller.correlationId, actor: caller.actor });
  return { id, deleted: true };
};
