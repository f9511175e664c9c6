/** After the tests: names in one line the servers whose tests were skipped. In CI a server that is missing is a failure. */
import { variableOf, type ServerName } from './server-names.js';
import { isThere } from './servers.js';

const names: Readonly<Record<ServerName, string>> = { nats: 'NATS', redis: 'Redis', mongodb: 'MongoDB', eventstore: 'EventStoreDB' };

const missing = (Object.keys(names) as ServerName[]).filter((name) => !isThere(name));
if (missing.length > 0)
  console.log(`# skipped, for there is no server: ${missing.map((name) => `${names[name]} (${variableOf[name]})`).join(', ')}`);
// No package of EventStoreDB can be had: the stand-in takes its place.
if (process.env['CI'] === '1' && missing.some((name) => name !== 'eventstore')) process.exitCode = 1;
