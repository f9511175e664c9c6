import { onMongoReadModels } from '../support/mongodb-read-models.js';

await onMongoReadModels(() => import('./projections-summaries.test.js'));
