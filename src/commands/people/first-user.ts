/** The token of the first user: shown, and kept where the operator finds it, until somebody owns the first team. */
import type { CommandDeps } from '../core/deps.js';
import { firstUserToken, teamWithoutOwner } from './registration.js';
import type { PendingFirstKey } from '../../domain/ports/first-key.js';

/** On loopback none is needed, and none shown. */
export const showFirstUserToken = async (deps: CommandDeps, file: PendingFirstKey, show: (token: string) => void): Promise<void> => {
  if (deps.people.isOnLoopback || (await teamWithoutOwner(deps)) === undefined) {
    file.remove();
    return;
  }
  const token = firstUserToken(deps.keys);
  if (file.read() !== token) file.keep(token);
  show(token);
};
