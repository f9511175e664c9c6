/** A process of its own that holds a lock until it is killed. */
import { holdLock } from '../../../src/adapters/sqlite/database.js';

process.stdout.write(holdLock({ file: process.argv[2] ?? '' }) === undefined ? 'refused' : 'held');
process.stdin.resume();
