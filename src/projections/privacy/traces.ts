/**
 * Places of an address or a person in the read models: emails, bulk sends and webhooks of an address, open erasures,
 * and what has to end when a person leaves.
 */
import type { ErasureEvent } from '../../domain/privacy/events.js';
import type { Recorded } from '../../domain/events.js';
import {
  splitStream,
  type EmailId,
  type OAuthGrantId,
  type SessionId,
  type SuppressionId,
  type TeamId,
  assertDefined,
  parseEmailId,
  parseOAuthGrantId,
  parseSessionId,
  parseTeamId,
  type UserId,
  parseBatchId,
  type BatchId,
} from '../../domain/core/ids.js';
import type { Document, Cursor, ReadModels } from '../../domain/ports/read-models.js';
import { timersOf, type TimerDocument } from '../../domain/ports/timers.js';
import { declareProjection, type Handler, type Step, timersSpec } from '../core/projection.js';
import { approvalsOfAddress } from '../approvals/approvals.js';
import { EMAILS, recipientTerm } from '../email/read-models.js';
import { OAUTH_GRANTS } from '../apps/apps.js';
import { SESSIONS } from '../people/sessions.js';
import { MEMBERSHIPS, type MembershipDocument } from '../teams/teams.js';
import type { AddressIndex } from '../../domain/privacy/decider.js';
import { priorities } from '../../domain/ports/bus.js';
import { BATCH_TIMERS } from '../bulk/batches.js';
import { webhooksOfTeam } from '../webhooks/reads.js';

const ERASURES = 'erasures';
export const ERASURE_TIMERS = timersOf('erasure');

/** `suppression`: the id that the address has among the team's suppressions; it is all that is known of the address. */
type ErasureDocument = Document &
  Readonly<{ team: string; suppression: string; requestedAt: string; completedAt: string | null }>;

type Timer = Readonly<{ kind: 'erasing' | 'waiting'; dueAt: string }>;

const steps = (
  { event, stream, position, metadata }: Recorded<ErasureEvent>,
  before: Document | undefined,
  timer: Timer | undefined,
): readonly Step[] => {
  const { id } = splitStream(stream);
  const common = { id, seq: before?.seq ?? position, position };
  const document: TimerDocument | undefined = timer && {
    ...common,
    ...timer,
    key: stream,
    priority: 'normal',
    team: metadata.teamId,
  };
  const known = before as ErasureDocument | undefined;
  const erasure: ErasureDocument | undefined =
    event.type === 'ErasureRequested'
      ? {
          ...common,
          team: metadata.teamId,
          suppression: event.data.suppressionId,
          requestedAt: event.data.at,
          completedAt: null,
        }
      : known && { ...known, completedAt: event.type === 'ErasureCompleted' ? event.data.at : null };
  return [
    { collection: ERASURE_TIMERS, id, document },
    ...(erasure === undefined ? [] : [{ collection: ERASURES, id, next: () => erasure }]),
  ];
};

/** An erasure of an address that a team asked for; `completedAt` is null while it goes on. */
export type ErasureListing = Readonly<{ id: string; requestedAt: string; completedAt: string | null }>;

/** The newest erasures of an address, at most `limit`. */
export const erasuresOf = async (
  { readModels }: Deps,
  teamId: TeamId,
  suppressionId: SuppressionId,
  limit: number,
): Promise<readonly ErasureListing[]> => {
  const where = { team: { eq: teamId }, suppression: { eq: suppressionId } };
  const documents = (await readModels.find(ERASURES, { where, limit })) as readonly ErasureDocument[];
  return documents.map(({ id, requestedAt, completedAt }) => ({ id, requestedAt, completedAt }));
};

const erasing: Handler<Extract<ErasureEvent, { type: 'ErasureRequested' | 'ErasureFound' }>> = (recorded, document) =>
  steps(recorded, document, { kind: 'erasing', dueAt: recorded.event.data.at });

export const erasuresProjection = declareProjection({
  name: 'erasures',
  collections: [
    timersSpec(ERASURE_TIMERS),
    { name: ERASURES, version: 2, fields: ['team', 'suppression'], indexes: [['team', 'suppression']] },
  ],
  main: ERASURES,
  kinds: ['erasure'],
  decrypts: [],
  on: {
    ErasureRequested: erasing,
    ErasureFound: erasing,
    ErasureWaits: (recorded, document) =>
      steps(recorded, document, { kind: 'waiting', dueAt: recorded.event.data.until }),
    ErasureCompleted: (recorded, document) => steps(recorded, document, undefined),
  },
});

/** Teams, sessions and grants of a person, with deleted teams, as far as the read models have caught up. */
export type UserTraces = Readonly<{
  teams: readonly TeamId[];
  sessions: readonly SessionId[];
  grants: readonly OAuthGrantId[];
  /** Mails of the service itself. */
  mails: readonly EmailId[];
}>;

/** Under which team, and to which addresses, such mails went. */
export type AddressesOfTeam = Readonly<{ teamId: TeamId | undefined; addresses: readonly string[] }>;

/** More than anybody has. */
const TRACES_MAX = 10_000;
/** Mails that are read at once. */
const PAGE = 200;

type Deps = Readonly<{ readModels: Pick<ReadModels, 'find'> }>;

const found = (deps: Deps, collection: string, field: string, userId: UserId): Promise<readonly Document[]> =>
  deps.readModels.find(collection, { where: { [field]: { eq: userId } }, limit: TRACES_MAX });

/** Archived ones have no address any more. */
const confidentialMails = async (
  { readModels }: Deps,
  { teamId, addresses }: AddressesOfTeam,
): Promise<readonly EmailId[]> => {
  const ids: EmailId[] = [];
  for (const address of teamId === undefined ? [] : addresses)
    for (let after: Cursor | undefined; ;) {
      const page = await readModels.find(EMAILS, {
        where: { team: { eq: teamId! } },
        terms: [recipientTerm(address)],
        limit: PAGE,
        ...(after === undefined ? {} : { after }),
      });
      for (const email of page)
        if (email['confidential'] === 1) ids.push(assertDefined(parseEmailId(email.id), 'email id'));
      if (page.length < PAGE) break;
      const { seq } = page.at(-1)!;
      after = { value: seq, seq };
    }
  return ids;
};

/** Living teams and those that can be restored, open sessions, open grants. */
export const tracesOfUser = async (deps: Deps, userId: UserId, mailed: AddressesOfTeam): Promise<UserTraces> => {
  const memberships = [
    ...(await found(deps, MEMBERSHIPS, 'user', userId)),
    ...(await found(deps, MEMBERSHIPS, 'deletedFor', userId)),
  ];
  return {
    teams: memberships.map((membership) =>
      assertDefined(parseTeamId((membership as MembershipDocument).team), 'team id'),
    ),
    sessions: (await found(deps, SESSIONS, 'user', userId)).map(({ id }) =>
      assertDefined(parseSessionId(id), 'session id'),
    ),
    mails: await confidentialMails(deps, mailed),
    grants: (await found(deps, OAUTH_GRANTS, 'user', userId)).map(({ id }) =>
      assertDefined(parseOAuthGrantId(id), 'grant id'),
    ),
  };
};

export const addressIndex = (readModels: Pick<ReadModels, 'find'>): AddressIndex => ({
  emailsOfAddress: (teamId, address) => emailPages(readModels, teamId, address),
  openBatches: (teamId) => openBatches(readModels, teamId),
  approvalsOfAddress: (teamId, address) => approvalsOfAddress(readModels, teamId, address),
  webhooksOfTeam: (teamId) => webhooksOfTeam(readModels, teamId),
});

async function* emailPages(
  readModels: Pick<ReadModels, 'find'>,
  teamId: TeamId,
  address: string,
): AsyncGenerator<Readonly<{ ids: readonly EmailId[]; isLast: boolean }>> {
  for (let after: Cursor | undefined; ;) {
    const found = await readModels.find(EMAILS, {
      where: { team: { eq: teamId } },
      terms: [recipientTerm(address)],
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    const isLast = found.length < PAGE;
    yield { ids: found.map(({ id }) => assertDefined(parseEmailId(id), 'email id')), isLast };
    if (isLast) return;
    const { seq } = found.at(-1)!;
    after = { value: seq, seq };
  }
}

/** The timers of a batch until all its emails are made, or it is stopped. */
const openTimers = ['fan-out', 'scheduled', 'cancelling'] as const;

const openBatches = async (readModels: Pick<ReadModels, 'find'>, teamId: TeamId): Promise<readonly BatchId[]> => {
  const ids = new Set<BatchId>();
  for (const kind of openTimers) {
    for (const priority of priorities) {
      for await (const timers of timerPages(readModels, { kind, priority, teamId })) {
        for (const { key } of timers) ids.add(assertDefined(parseBatchId(splitStream(key).id), 'batch id'));
      }
    }
  }
  return [...ids];
};

async function* timerPages(
  readModels: Pick<ReadModels, 'find'>,
  { kind, priority, teamId }: Readonly<{ kind: string; priority: string; teamId: TeamId }>,
): AsyncGenerator<readonly TimerDocument[]> {
  for (let after = 0; ;) {
    const found = await readModels.find(BATCH_TIMERS, {
      where: { kind: { eq: kind }, priority: { eq: priority }, team: { eq: teamId }, seq: { gte: after + 1 } },
      sort: { field: 'seq', direction: 'asc' },
      limit: PAGE,
    });
    const last = found.at(-1);
    if (last === undefined) return;
    yield found as readonly TimerDocument[];
    if (found.length < PAGE) return;
    after = last.seq;
  }
}
