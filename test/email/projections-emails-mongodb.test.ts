import { onMongoReadModels } from '../support/mongodb-read-models.js';

await onMongoReadModels(() => import('./projections-emails.test.js'));
