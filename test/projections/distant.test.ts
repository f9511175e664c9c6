/** Every test of projections once more, on servers whose answers come late and overtake each other. */
import { useDistantPorts } from '../support/ports-of-tests.js';

useDistantPorts();
await import('./assets.test.js');
await import('./emails.test.js');
await import('./queries.test.js');
await import('./runner.test.js');
