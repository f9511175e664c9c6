/** The list of API keys. */
import type { ApiKeyEvent } from '../domain/api-key/events.js';
import { apiKeyDecider, type ApiKey } from '../domain/api-key/state.js';
import { splitStream } from '../domain/ids.js';
import type { Document } from '../domain/ports/read-models.js';
import { eventByEvent, eventsRead, type Projection } from './projection.js';

export const API_KEYS = 'apiKeys';

export type ApiKeyDocument = Document & Readonly<{ team: string; key: ApiKey }>;

export const apiKeysProjection: Projection = {
  name: 'apiKeys',
  collections: [{ name: API_KEYS, version: 1, fields: ['team'], indexes: [['team']] }],
  ...eventsRead('apiKey', {
    ApiKeyCreated: 'data',
    ApiKeyUsed: 'data',
    ApiKeyRevoked: 'data',
  }),
  reads: (batch) => batch.map(({ stream }) => ({ collection: API_KEYS, id: splitStream(stream).id })),
  fold: eventByEvent(({ event, stream, position, metadata }, find) => {
    const { id } = splitStream(stream);
    const before = find(API_KEYS, id) as ApiKeyDocument | undefined;
    const key = apiKeyDecider.evolve(before?.key, event as ApiKeyEvent);
    if (key === undefined) return [];
    const document: ApiKeyDocument = { id, seq: before?.seq ?? position, position, team: before?.team ?? metadata.teamId, key };
    return [{ collection: API_KEYS, id, position, document }];
  }),
};
