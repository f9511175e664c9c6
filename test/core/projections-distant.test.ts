/** Every test of projections once more, on servers whose answers come late and overtake each other. */
import { useDistantPorts } from '../support/ports-of-tests.js';

useDistantPorts();
await import('../templates/projections-assets.test.js');
await import('../email/projections-emails.test.js');
await import('./projections-queries.test.js');
await import('./projections-runner.test.js');
