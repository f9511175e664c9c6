/**
 * A service that gives one job to a document process and says its id: a test kills it and sees what becomes of the
 * process.
 */
import { eventually } from '../../../support/wait.js';
import { openHostilePool } from './hostile-pool.js';

const pool = openHostilePool();
// The first job shows that the process has started, so that the second is under way when its id is said.
await pool.act('sources');
void pool.act(process.argv[2] ?? '');
process.send?.(await eventually('the process runs', () => pool.pids()[0]));
