/** The whole service, with everything on servers. */
import t from 'tap';
import { engineSuite } from './engine-suite.js';

t.setTimeout(900_000);
await t.test('distributed', (t) => engineSuite(t, 'distributed'));
