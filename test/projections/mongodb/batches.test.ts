import { onMongoReadModels } from '../../support/mongodb-read-models.js';

await onMongoReadModels(() => import('../batches.test.js'));
