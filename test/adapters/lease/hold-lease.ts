/** A process of its own that holds a lease until it is killed: `hold-lease.js <file> <name> <ttl in ms>`. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/adapters/clock/system.js';
import { openSqliteLeases } from '../../../src/adapters/lease/sqlite.js';

const [, , file = '', name = '', ttl = '0'] = process.argv;
const leases = openSqliteLeases({ file, clock: systemClock(), freshName: randomUUID });
process.stdout.write(JSON.stringify((await leases.acquire(name, `process-${process.pid}`, Number(ttl))) ?? null));
// The lock lives as long as somebody refers to it.
process.stdin.resume().on('end', () => void leases.close());
