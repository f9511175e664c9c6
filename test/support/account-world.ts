/** A world of commands whose first team sends the mails of accounts, and what these carry. */
import { makeAccountTemplates } from '../../src/commands/email/service-mails.js';
import { causeOf } from '../../src/commands/core/caller.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { INSTANCE_STREAM } from '../../src/domain/core/ids.js';
import { startOf, type EventLog } from '../../src/event-log/event-log.js';
import { quickPasswords } from './people.js';
import { accountSamples } from './samples.js';
import { caller, openWorld, OTHER_TEAM, type World } from './command-world.js';
import { T0 } from './email-facts.js';

/** `token`: what its link carries; empty where it has none. */
export type SentMail = Readonly<{ to: string; subject: string; page: string; token: string; messageId: string }>;

export type AccountWorld = World &
  Readonly<{
    /** In the order in which they were sent. */
    mails: () => Promise<readonly SentMail[]>;
    /** The token in the link of the newest mail to that page; empty if there is none. */
    tokenTo: (page: string) => Promise<string>;
  }>;

/** The mails that carry a link to a page of accounts, or nothing. */
export const mailsIn = async (eventLog: Pick<EventLog, 'readAll'>): Promise<readonly SentMail[]> => {
  const found: SentMail[] = [];
  for await (const { events } of eventLog.readAll(0, { kinds: ['email'] }))
    for (const { event } of events) {
      if (event.type !== 'EmailQueued' || event.sealed === undefined) continue;
      const { variables, subject, recipients } = event.sealed;
      const [, page = '', token = ''] = /\/account\/([a-z]+)\?token=(.*)$/.exec(String(variables['url'] ?? '')) ?? [];
      found.push({ to: recipients[0]?.email ?? '', subject, page, token, messageId: event.data.messageId });
    }
  return found;
};

/** The other languages of the templates would cost time, and nobody reads them here. */
const inEnglish = accountSamples.map(({ translations: _, ...sample }) => sample);

/** The first team is none of those that tests work in. */
export const openAccountWorld = async (...given: Parameters<typeof openWorld>): Promise<AccountWorld> => {
  const world = await openWorld(...given);
  const { eventLog } = world.deps;
  const initialised = { type: 'InstanceInitialised' as const, data: { at: T0, teamId: OTHER_TEAM } };
  await eventLog.append(INSTANCE_STREAM, startOf(INSTANCE_STREAM), [initialised], causeOf(world.deps, caller));
  await makeAccountTemplates(world.deps, inEnglish);
  const mails = () => mailsIn(eventLog);
  return {
    ...world,
    mails,
    tokenTo: async (wanted) => (await mails()).findLast(({ page }) => page === wanted)?.token ?? '',
  };
};

/** Another process of the same instance, whose passwords cost nothing where many are tried at once. */
export const quickly = (deps: CommandNeeds): CommandNeeds => ({
  ...deps,
  people: { ...deps.people, passwords: quickPasswords },
});

/** The code that the work rejects with, or `fine`. */
export const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'fine',
    (fault: unknown) => (fault instanceof DomainError ? fault.code : String(fault)),
  );

/** How often each came. */
export const tally = (codes: readonly string[]): Readonly<Record<string, number>> =>
  codes.reduce<Record<string, number>>((sums, code) => ({ ...sums, [code]: (sums[code] ?? 0) + 1 }), {});
