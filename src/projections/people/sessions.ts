/**
 * The open sessions of each person, by id and time. The address and program they are used from stay sealed in their
 * streams.
 */
import { assertDefined, parseSessionId, splitStream, type SessionId, type UserId } from '../../domain/core/ids.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Document, ReadModels } from '../../domain/ports/read-models.js';
import { counted, readPage, type Page, type Paging } from '../core/pages.js';
import { declareProjection } from '../core/projection.js';

export const SESSIONS = 'sessions';

/** `expiresAt`: when it ends where it is not refreshed before. */
export type SessionDocument = Document & Readonly<{ user: string; expiresAt: string }>;

export const sessionsProjection = declareProjection({
  name: 'sessions',
  collections: [{ name: SESSIONS, version: 1, fields: ['user', 'expiresAt'], indexes: [['user'], ['expiresAt']] }],
  main: SESSIONS,
  kinds: ['session'],
  decrypts: [],
  on: {
    SessionStarted: ({ event, stream, position }) => {
      const { id } = splitStream(stream);
      const { userId: user, expiresAt } = event.data;
      const document: SessionDocument = { id, seq: position, position, user, expiresAt };
      return [{ collection: SESSIONS, id, next: () => document }];
    },
    SessionRefreshed: ({ event, stream, position }, document) => {
      const { id } = splitStream(stream);
      const before = document as SessionDocument | undefined;
      if (before === undefined) return [];
      const after: SessionDocument = { ...before, position, expiresAt: event.data.expiresAt };
      return [{ collection: SESSIONS, id, next: () => after }];
    },
    SessionEnded: ({ stream }) => [{ collection: SESSIONS, id: splitStream(stream).id, next: () => undefined }],
  },
});

const sessionIdOf = ({ id }: Document): SessionId => assertDefined(parseSessionId(id), 'session id');

type Deps = Readonly<{ readModels: ReadModels; limits: Pick<Limits, 'listTotalMax'> }>;

/** The ids of one page of the sessions of a person, the newest first; empty for `undefined`. */
export const listSessions = (deps: Deps, userId: UserId | undefined, paging: Paging): Promise<Page<SessionId>> => {
  const where = { user: { eq: userId ?? '' } };
  const list = {
    collection: SESSIONS,
    where,
    searchTotalMax: deps.limits.listTotalMax,
    total: () => counted(deps, SESSIONS, where),
  };
  return readPage(deps.readModels, list, paging, sessionIdOf);
};

/** At most `limit` sessions of a person, the oldest first. */
export const sessionsOfUser = async (
  { readModels }: Readonly<{ readModels: Pick<ReadModels, 'find'> }>,
  userId: UserId,
  limit: number,
): Promise<readonly SessionId[]> =>
  (
    await readModels.find(SESSIONS, {
      where: { user: { eq: userId } },
      sort: { field: 'seq', direction: 'asc' },
      limit,
    })
  ).map(sessionIdOf);

/** Sessions that expired by that moment, the longest expired first. */
export const unusedSessions = async (
  readModels: Pick<ReadModels, 'find'>,
  upTo: string,
  limit: number,
): Promise<readonly SessionId[]> => {
  const where = { expiresAt: { lte: upTo } };
  return (await readModels.find(SESSIONS, { where, sort: { field: 'expiresAt', direction: 'asc' }, limit })).map(
    sessionIdOf,
  );
};
