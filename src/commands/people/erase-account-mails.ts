/** The mails that the service sent to a person who goes: what they say, and to whom they went, is destroyed with the person. */
import { eraseStream } from '../core/erase.js';
import { handle } from '../core/handle.js';
import type { CommandDeps } from '../core/deps.js';
import { firstTeam } from '../core/instance.js';
import { ownedBy } from '../core/owned-by.js';
import { emailDecider } from '../../domain/email/decider.js';
import { emailNotFound } from '../../domain/email/requests.js';
import { DomainError } from '../../domain/core/errors.js';
import { emailStream, userStream, type EmailId, type TeamId, type UserId } from '../../domain/core/ids.js';
import type { Cause } from '../../event-log/event-log.js';

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
