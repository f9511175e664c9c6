import { onMongoReadModels } from '../../support/mongodb-read-models.js';

await onMongoReadModels(() => import('../summaries.test.js'));
