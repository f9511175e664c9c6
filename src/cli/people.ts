/** `sealpost user …`: what the operator does about people. */
import type { CommandNeeds } from '../commands/needs.js';
import { eraseUser, type PersonTraces } from '../commands/people/erasure.js';
import type { MailedTo } from '../commands/email/service-mails.js';
import { changeUser, ownerOf, signInAddress } from '../commands/access/users.js';
import { firstUserToken, teamWithoutOwner } from '../commands/people/registration.js';
import { makeSignInLink, signInLink } from '../commands/people/sign-in-links.js';
import type { EventType } from '../domain/events.js';
import {
  assertDefined,
  NO_TEAM,
  emailStream,
  parseEmailId,
  parseOAuthGrantId,
  parseSessionId,
  parseTeamId,
  parseUserId,
  splitStream,
  type EmailId,
  type OAuthGrantId,
  type SessionId,
  type TeamId,
  type UserId,
} from '../domain/core/ids.js';
import type { Cause } from '../event-log/event-log.js';
import { isoTime } from '../domain/core/time.js';
import { readConfig } from '../service/settings/config.js';
import { print } from './core/output.js';
import { withTeam } from './core/engine.js';

export const showFirstToken = (): Promise<void> =>
  withTeam(async (engine) => {
    if ((await teamWithoutOwner(engine)) === undefined)
      throw new Error('the first team has had an owner; others are invited into it');
    print(firstUserToken(engine.keys));
  });

/** Beside a running server too. The event names the command line as the actor. */
export const link = (who: string): Promise<void> =>
  withTeam(async (engine) => {
    const id = await userNamed(engine, who);
    print(signInLink(readConfig().publicUrl, await makeSignInLink(engine, id, causeOfOperator(engine))));
  });

/** A running service knows at once. */
export const operator = (who: string, { revoke = false }: Readonly<{ revoke?: boolean }>): Promise<void> =>
  withTeam(async (engine) => {
    const id = await userNamed(engine, who);
    const cause = causeOfOperator(engine);
    await changeUser(engine, id, { type: revoke ? 'RevokeOperator' : 'GrantOperator', at: cause.at }, cause);
    print(`The user ${id} is ${revoke ? 'no' : 'an'} operator of this instance.`);
  });

/** Beside a running server too, which knows at once; and once more where it was broken off. */
export const erase = (who: string): Promise<void> =>
  withTeam(async (engine) => {
    const id = await userNamed(engine, who);
    const cause = causeOfOperator(engine);
    await eraseUser(engine, id, (userId, mailed) => tracesInLog(engine, userId, mailed), cause);
    print(`The user ${id} is erased: out of all teams, with all sessions, and nothing personal is left in the log.`);
  });

/** In: an address or the id of a user. */
const userNamed = async (engine: CommandNeeds, who: string): Promise<UserId> => {
  const id = parseUserId(who) ?? (await ownerOf(engine, signInAddress(engine, who).addressId));
  if (id === undefined) throw new Error(`${who} is neither the address nor the id of a user`);
  return id;
};

const causeOfOperator = ({ clock }: Pick<CommandNeeds, 'clock'>): Cause => ({
  teamId: NO_TEAM,
  actor: 'cli',
  correlationId: 'cli',
  causationId: 'cli',
  at: isoTime(clock.now()),
});

const TRACES: readonly EventType[] = [
  'MemberAdded',
  'SessionStarted',
  'OAuthGrantGiven',
  'EmailQueued',
  'EmailArchived',
];

/** Read from the log itself: the read models may be behind where no service runs. */
const tracesInLog = async (
  { eventLog }: Pick<CommandNeeds, 'eventLog'>,
  userId: UserId,
  mailed: MailedTo,
): Promise<PersonTraces> => {
  const mails = new Set<EmailId>();
  const [teams, sessions, grants] = [new Set<TeamId>(), new Set<SessionId>(), new Set<OAuthGrantId>()];
  for await (const { events } of eventLog.readAll(0, { types: TRACES, decrypt: [] }))
    for (const { event, stream, metadata } of events) {
      const { id } = splitStream(stream);
      if (event.type === 'MemberAdded' && event.data.userId === userId)
        teams.add(assertDefined(parseTeamId(id), 'team id'));
      if (event.type === 'SessionStarted' && event.data.userId === userId)
        sessions.add(assertDefined(parseSessionId(id), 'session id'));
      if (event.type === 'EmailQueued' && event.data.confidential === true && metadata.teamId === mailed.teamId)
        mails.add(assertDefined(parseEmailId(id), 'email id'));
      if (event.type === 'EmailArchived') mails.delete(id as EmailId);
      if (event.type === 'OAuthGrantGiven' && event.data.userId === userId)
        grants.add(assertDefined(parseOAuthGrantId(id), 'grant id'));
    }
  return {
    teams: [...teams],
    sessions: [...sessions],
    grants: [...grants],
    mails: await mailsTo(eventLog, mails, mailed),
  };
};

/** Those of them that went to one of the addresses. */
const mailsTo = async (
  eventLog: CommandNeeds['eventLog'],
  ids: ReadonlySet<EmailId>,
  { addresses }: MailedTo,
): Promise<readonly EmailId[]> => {
  const wanted = new Set(addresses.map((address) => address.toLowerCase()));
  const found: EmailId[] = [];
  for (const id of wanted.size === 0 ? [] : ids) {
    const [first] = await eventLog.load(emailStream(id));
    const recipients = first?.event.type === 'EmailQueued' ? (first.event.sealed?.recipients ?? []) : [];
    if (recipients.some((recipient) => recipient !== null && wanted.has(recipient.email.toLowerCase()))) found.push(id);
  }
  return found;
};
