/**
 * The least that any program must do to derive something from a log: read every event whole and in order, and parse its
 * data.
 */
import Sqlite from 'better-sqlite3';

const PAGE = 1_000;
type Row = [position: number, data: string, ...others: unknown[]];

/** In: the file of the log and how many events it has. Throws where it finds another number. */
export const scanLog = (file: string, expected: number): void => {
  const database = new Sqlite(file, { readonly: true, fileMustExist: true });
  const page = database
    .prepare<[number, number], Row>(
      'SELECT position, data, stream, revision, type, metadata, sealed, hash FROM events WHERE position > ? ORDER BY position LIMIT ?',
    )
    .raw(true);
  let [position, events, fields] = [0, 0, 0];
  for (let rows = page.all(position, PAGE); rows.length > 0; rows = page.all(position, PAGE)) {
    for (const [, data] of rows) fields += Object.keys(JSON.parse(data) as object).length;
    events += rows.length;
    position = rows.at(-1)![0];
  }
  database.close();
  if (events !== expected || fields < events)
    throw new Error(`the scan found ${events} events, the log has ${expected}`);
};
