/** The list of API keys. */
import type { ApiKeyEvent } from '../domain/api-key/events.js';
import { apiKeyDecider, type ApiKey } from '../domain/api-key/state.js';
import { splitStream } from '../domain/ids.js';
import type { Document } from '../domain/ports/read-models.js';
import { declareProjection, type Handler } from './projection.js';

export const API_KEYS = 'apiKeys';

export type ApiKeyDocument = Document & Readonly<{ team: string; key: ApiKey }>;

const step: Handler<ApiKeyEvent> = ({ event, stream, position, metadata }, document) => {
  const { id } = splitStream(stream);
  const before = document as ApiKeyDocument | undefined;
  const key = apiKeyDecider.evolve(before?.key, event);
  if (key === undefined) return [];
  const after: ApiKeyDocument = { id, seq: before?.seq ?? position, position, team: before?.team ?? metadata.teamId, key };
  return [{ collection: API_KEYS, id, next: () => after }];
};

export const apiKeysProjection = declareProjection({
  name: 'apiKeys',
  collections: [{ name: API_KEYS, version: 1, fields: ['team'], indexes: [['team']] }],
  main: API_KEYS,
  kinds: ['apiKey'],
  decrypts: [],
  on: { ApiKeyCreated: step, ApiKeyUsed: step, ApiKeyRevoked: step },
});
