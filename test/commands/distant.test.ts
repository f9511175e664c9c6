/** Every test of commands once more, on servers whose answers come late and overtake each other. */
import { useDistantPorts } from '../support/ports-of-tests.js';

useDistantPorts();
await import('./api-keys.test.js');
await import('./assets.test.js');
await import('./attachment-templates.test.js');
await import('./attachments.test.js');
await import('./command-handler.test.js');
await import('./credits.test.js');
await import('./documents.test.js');
await import('./emails.test.js');
await import('./idempotency.test.js');
await import('./send-email.test.js');
await import('./templates.test.js');
await import('./unsubscribing.test.js');
