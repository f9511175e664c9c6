/** The list of API keys. */
import type { ApiKeyEvent } from '../../domain/keys/events.js';
import { apiKeyListing, type ApiKeyListing, apiKeyDecider, type ApiKey } from '../../domain/keys/decider.js';
import { assertDefined, parseApiKeyId, splitStream } from '../../domain/core/ids.js';
import type { Document, ReadModels } from '../../domain/ports/read-models.js';
import { declareProjection, type Handler } from '../core/projection.js';

export const API_KEYS = 'apiKeys';

export type ApiKeyDocument = Document &
  Readonly<{ team: string; deletes: 'implied' | 'named' | 'no'; key: ApiKey; createdBy: string }>;

const deletesOf = ({ impliedDelete, permissions }: ApiKey): ApiKeyDocument['deletes'] =>
  impliedDelete ? 'implied' : permissions.includes('emails:delete') ? 'named' : 'no';

const step: Handler<ApiKeyEvent> = ({ event, stream, position, metadata }, document) => {
  const { id } = splitStream(stream);
  const before = document as ApiKeyDocument | undefined;
  const key = apiKeyDecider.evolve(before?.key, event);
  if (key === undefined) return [];
  const after: ApiKeyDocument = {
    id,
    seq: before?.seq ?? position,
    position,
    team: before?.team ?? metadata.teamId,
    deletes: deletesOf(key),
    key,
    createdBy: before?.createdBy ?? metadata.actor,
  };
  return [{ collection: API_KEYS, id, next: () => after }];
};

export const apiKeysProjection = declareProjection({
  name: 'apiKeys',
  collections: [{ name: API_KEYS, version: 3, fields: ['team', 'deletes'], indexes: [['team'], ['deletes']] }],
  main: API_KEYS,
  kinds: ['apiKey'],
  decrypts: [],
  on: { ApiKeyCreated: step, ApiKeyChanged: step, ApiKeyUsed: step, ApiKeyRevoked: step },
});

/** Rows of the list. A key is revoked with a maker, whose document is read where it is not on the page. */
export const listingsOf = async (
  readModels: Pick<ReadModels, 'get'>,
  page: readonly ApiKeyDocument[],
  now: string,
): Promise<ApiKeyListing[]> => {
  const known = new Map(page.map(({ id, key }) => [id, key]));
  for (const id of new Set(page.flatMap(({ key }) => key.madeBy))) {
    const maker = known.has(id) ? undefined : ((await readModels.get(API_KEYS, id)) as ApiKeyDocument | undefined);
    if (maker !== undefined) known.set(id, maker.key);
  }
  return page.map(({ id, key, createdBy }) =>
    apiKeyListing(
      assertDefined(parseApiKeyId(id), 'API key id'),
      { key, createdBy },
      key.madeBy.map((maker) => known.get(maker)),
      now,
    ),
  );
};

/** The ids of the keys that work and may delete emails only because keys of their time could. */
export const keysWithImpliedDelete = async (
  readModels: Pick<ReadModels, 'find'>,
  now: string,
  limit: number,
): Promise<readonly string[]> => {
  const found = (await readModels.find(API_KEYS, {
    where: { deletes: { eq: 'implied' } },
    limit,
  })) as readonly ApiKeyDocument[];
  return found
    .filter(({ key }) => key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now))
    .map(({ id }) => id);
};
