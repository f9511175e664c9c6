/** Webhooks of the whole service, on each engine. */
import t from 'tap';
import { webhookSuite } from './webhook-suite.js';

t.setTimeout(900_000);
await t.test('embedded', (t) => webhookSuite(t, 'embedded'));
await t.test('distributed', (t) => webhookSuite(t, 'distributed'));
