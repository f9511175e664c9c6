/** Every test of processors once more, on servers whose answers come late and overtake each other. */
import { useDistantPorts } from '../support/ports-of-tests.js';

useDistantPorts();
await import('./deliver-email.test.js');
await import('./housekeeping.test.js');
await import('./relay.test.js');
await import('./due-work.test.js');
await import('./credits.test.js');
await import('./copies.test.js');
