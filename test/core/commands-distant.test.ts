/** Every test of commands once more, on servers whose answers come late and overtake each other. */
import { useDistantPorts } from '../support/ports-of-tests.js';

useDistantPorts();
await import('../keys/commands-api-keys.test.js');
await import('../templates/commands-assets.test.js');
await import('../templates/commands-attachment-templates.test.js');
await import('../documents/commands-attachments.test.js');
await import('./commands.test.js');
await import('../billing/commands-credits.test.js');
await import('../documents/commands.test.js');
await import('../email/commands-emails.test.js');
await import('../email/commands-send-email.test.js');
await import('../templates/commands.test.js');
await import('../recipients/commands-unsubscribing.test.js');
