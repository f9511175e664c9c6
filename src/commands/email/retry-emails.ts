/** Pushes many emails on by hand: those that wait are due now, those that have failed are tried anew. */
import { domainToASCII } from 'node:url';
import type { Caller } from '../core/caller.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { handle, loadState } from '../core/handle.js';
import { ownedBy } from '../core/owned-by.js';
import { isTest } from '../core/test-keys.js';
import type { RetryEmailsResponse } from '../../api/email.js';
import { emailDecider, type EmailCommand } from '../../domain/email/decider.js';
import { emailNotFound } from '../../domain/email/requests.js';
import type { Email, EmailState } from '../../domain/email/state.js';
import { DomainError, EventUnknown, EventUnreadable } from '../../domain/core/errors.js';
import { emailStream, type EmailId } from '../../domain/core/ids.js';
import { nextTurn } from '../../shared/next-turn.js';

export type EmailsToRetry = Readonly<{
  /** What they were when they were found; of those that are something else by now, nothing is done. */
  status: 'queued' | 'failed';
  /** Those that wait for a time, or have failed. */
  ids: readonly EmailId[];
  /** Those that wait for the relay. */
  held: readonly EmailId[];
  /** Of a recipient who has not got it. */
  domain?: string;
}>;

/** So many are loaded in one turn of the event loop, and appended side by side: they share commits. */
const AT_ONCE = 16;

/** Every email is looked at again: what has moved on since it was found is left alone. */
export const retryEmails = async (
  deps: CommandDeps,
  caller: Caller,
  { status, ids, held, domain }: EmailsToRetry,
): Promise<Omit<RetryEmailsResponse, 'nextCursor'>> => {
  const goesTo = domain === undefined ? () => true : waitsFor(domain);
  const retry = (id: EmailId): Promise<boolean> =>
    tryRetry(deps, caller, id, (email) => email.status === status && goesTo(email) && (!isTest(caller) || email.accepted.test === true));
  const retried = await countOf(ids, retry);
  const waiting: EmailId[] = [];
  await countOf(held, async (id) => {
    const { state, teamId } = await loadState(deps.eventLog, emailStream(id), emailDecider);
    const waits = teamId === caller.teamId && state?.heldUntil !== undefined && goesTo(state) && !isTest(caller);
    if (waits) waiting.push(id);
    return waits;
  });
  // All of them leave when the host answers: one that comes again makes the breaker ask it.
  const first = waiting[0];
  if (first !== undefined) await retry(first);
  return { retried, held: waiting.length };
};

const countOf = async (ids: readonly EmailId[], act: (id: EmailId) => Promise<boolean>): Promise<number> => {
  let count = 0;
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const done = await Promise.all(ids.slice(from, from + AT_ONCE).map(act));
    count += done.filter((isDone) => isDone).length;
    await nextTurn();
  }
  return count;
};

/** Out: whether it is due now and was not before. */
const tryRetry = async (deps: CommandDeps, caller: Caller, id: EmailId, isMeant: (email: Email) => boolean): Promise<boolean> => {
  const cause = causeOf(deps, caller);
  const decider = {
    ...emailDecider,
    decide: (command: EmailCommand, email: EmailState) => {
      if (email === undefined || !isMeant(email)) return [];
      return emailDecider.decide(email.status === 'failed' ? retryOf(cause.at) : command, email);
    },
  };
  try {
    const push = { type: 'PushEmail' as const, at: cause.at };
    const { events } = await handle(deps.eventLog, emailStream(id), decider, push, cause, ownedBy(caller.teamId, emailNotFound));
    return events.length > 0;
  } catch (fault) {
    if (fault instanceof DomainError && ['EMAIL_NOT_RETRYABLE', 'EMAIL_NOT_FOUND', 'EMAIL_ARCHIVED'].includes(fault.code)) return false;
    // A damaged email waits as it is; the others that are meant are not kept from it.
    if (fault instanceof EventUnreadable || fault instanceof EventUnknown) return false;
    throw fault;
  }
};

const retryOf = (at: string): EmailCommand => ({ type: 'RetryEmail', at, idempotencyKey: undefined, fingerprint: undefined });

const waitsFor = (domain: string): ((email: Email) => boolean) => {
  const wanted = asciiOf(domain);
  return ({ content, recipientStatuses }) =>
    content !== undefined &&
    content.recipients.some(
      (recipient, index) =>
        recipient !== null &&
        (recipientStatuses[index] === 'queued' || recipientStatuses[index] === 'failed') &&
        asciiOf(recipient.email.slice(recipient.email.lastIndexOf('@') + 1)) === wanted,
    );
};

/** Domains are compared as the DNS does: without regard to case, and IDNs in their ASCII form. */
const asciiOf = (domain: string): string => domainToASCII(domain) || domain.toLowerCase();
