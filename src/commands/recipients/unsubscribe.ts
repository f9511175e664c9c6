/** What a recipient may do by the link of a mail: see where it leads, unsubscribe from its list, subscribe again. */
import { handle } from '../core/handle.js';
import type { CommandDeps } from '../core/deps.js';
import { isoMoment } from '../core/memo.js';
import { holdsNow } from './suppression-check.js';
import { suppressUnder } from './suppressions.js';
import { readUnsubscribeToken, type Unsubscription } from './links.js';
import { DomainError } from '../../domain/core/errors.js';
import { emailStream, suppressionStream } from '../../domain/core/ids.js';
import { suppressionDecider } from '../../domain/recipients/suppression.js';
import type { Cause } from '../../event-log/event-log.js';

/** Where the link leads. `company`: as the mail named it; empty where it did not. */
export type Subscribed = Readonly<{ list: string; company: string; isSubscribed: boolean }>;

/** What the log still has of the mail: its recipient's address is undefined once it is destroyed. */
const mailOf = async ({ eventLog }: CommandDeps, { emailId, recipient }: Unsubscription) => {
  const first = (await eventLog.load(emailStream(emailId)))[0]?.event;
  if (first?.type !== 'EmailQueued' && first?.type !== 'EmailScheduled') return { company: '', address: undefined };
  return { company: first.data.company['name'] ?? '', address: first.sealed?.recipients[recipient]?.email };
};

const causeOf = (deps: CommandDeps, { teamId }: Unsubscription, requestId: string): Cause => ({
  teamId,
  actor: 'recipient',
  correlationId: requestId,
  causationId: requestId,
  at: isoMoment(deps.clock.now()),
});

/** Changes nothing. Out: undefined where the token was not made here, as of the others. */
export const readSubscription = async (deps: CommandDeps, token: string): Promise<Subscribed | undefined> => {
  const link = readUnsubscribeToken(deps, token);
  if (link === undefined) return undefined;
  const [{ company }, isSuppressed] = await Promise.all([mailOf(deps, link), holdsNow(deps, link.id)]);
  return { list: link.list, company, isSubscribed: !isSuppressed };
};

/** Safe to repeat. Rejects with NOT_DURING_UPDATE. */
export const unsubscribe = async (deps: CommandDeps, token: string, requestId: string): Promise<Subscribed | undefined> => {
  const link = readUnsubscribeToken(deps, token);
  if (link === undefined) return undefined;
  const { company, address: email } = await mailOf(deps, link);
  const { teamId, list, emailId } = link;
  const { isFirst } = await suppressUnder(deps, link.id, {
    teamId,
    list,
    emailId,
    reason: 'unsubscribe',
    cause: causeOf(deps, link, requestId),
    ...(email === undefined ? {} : { email }),
  });
  if (isFirst) await deps.whenHeldEverywhere();
  return { list, company, isSubscribed: false };
};

/** Takes back what keeps mails of this list from the recipient, whoever has said it. Rejects as `unsubscribe`. */
export const subscribeAgain = async (deps: CommandDeps, token: string, requestId: string): Promise<Subscribed | undefined> => {
  const link = readUnsubscribeToken(deps, token);
  if (link === undefined) return undefined;
  const { company } = await mailOf(deps, link);
  const cause = causeOf(deps, link, requestId);
  if (await holdsNow(deps, link.id)) {
    const command = { type: 'RemoveSuppression' as const, at: cause.at };
    await handle(deps.eventLog, suppressionStream(link.id), suppressionDecider, command, cause).catch(unlessGone);
  }
  return { list: link.list, company, isSubscribed: true };
};

/** Somebody else was faster. */
const unlessGone = (fault: unknown): void => {
  if (!(fault instanceof DomainError) || fault.code !== 'SUPPRESSION_NOT_FOUND') throw fault;
};
