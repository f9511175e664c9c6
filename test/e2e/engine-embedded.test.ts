/** The whole service, with everything in one directory. */
import t from 'tap';
import { engineSuite } from './engine-suite.js';

t.setTimeout(900_000);
await t.test('embedded', (t) => engineSuite(t, 'embedded'));
