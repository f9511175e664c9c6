/**
 * After the tests: names in one line the servers whose tests were skipped. In CI a server that is missing is a failure.
 */
import { folderVariable, variableOf, type ServerName } from './server-names.js';
import { canStart } from './own-server.js';
import { isThere } from './servers.js';

const names: Readonly<Record<ServerName, string>> = {
  nats: 'NATS',
  redis: 'Redis',
  mongodb: 'MongoDB',
  eventstore: 'EventStoreDB',
};

const all = Object.keys(names) as ServerName[];
const missing = all.filter((name) => !isThere(name));
// A server that the environment names is not killed.
const unharmed = all.filter((name) => name !== 'eventstore' && isThere(name) && !canStart(name));
const skipped = [
  ...missing.map((name) => `${names[name]} (${variableOf[name]})`),
  ...unharmed.map((name) => `faults of ${names[name]} (${folderVariable})`),
];
if (skipped.length > 0) console.log(`# skipped, for there is no server: ${skipped.join(', ')}`);
// No package of EventStoreDB can be had: the stand-in takes its place.
if (process.env['CI'] === '1' && (unharmed.length > 0 || missing.some((name) => name !== 'eventstore')))
  process.exitCode = 1;
