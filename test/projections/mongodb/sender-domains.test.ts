import { onMongoReadModels } from '../../support/mongodb-read-models.js';

await onMongoReadModels(() => import('../sender-domains.test.js'));
