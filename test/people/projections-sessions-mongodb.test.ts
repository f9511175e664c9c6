import { onMongoReadModels } from '../support/mongodb-read-models.js';

await onMongoReadModels(() => import('./projections-sessions.test.js'));
