/** Every test of processors once more, on servers whose answers come late and overtake each other. */
import { useDistantPorts } from '../support/ports-of-tests.js';

useDistantPorts();
await import('../email/processors-deliver-email.test.js');
await import('./processors-housekeeping.test.js');
await import('./processors-relay.test.js');
await import('./processors-due-work.test.js');
await import('../billing/processors-credits.test.js');
await import('../email/processors-copies.test.js');
