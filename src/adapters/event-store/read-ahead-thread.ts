/**
 * The thread that reads ahead in the log: sends page after page, a few more than were asked for, until it is told to
 * stop.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../sqlite/database.js';
import { openLogTable } from './log-table.js';
import { pack, pagesAheadMax, type Stretch } from './read-ahead.js';

const port = parentPort;
if (port !== null) {
  const { file, after, upTo, batchSize, kinds, types } = workerData as Stretch;
  const database = openDatabase({ file, synchronous: 'full', mustExist: true });
  const table = openLogTable(database);
  let cursor = after;

  const send = (): void => {
    if (cursor >= upTo) return;
    const batch = table.page({ after: cursor, upTo, limit: batchSize }, { kinds, types });
    cursor = batch.position;
    const page = pack(batch);
    port.postMessage(page, [page.sealed.buffer as ArrayBuffer]);
  };

  port.on('message', (wish: 'more' | 'stop') => {
    if (wish === 'more') return send();
    database.close();
    port.close();
  });
  for (let ahead = 0; ahead < pagesAheadMax; ahead += 1) send();
}
