import { onMongoReadModels } from '../../support/mongodb-read-models.js';

await onMongoReadModels(() => import('../analytics.test.js'));
