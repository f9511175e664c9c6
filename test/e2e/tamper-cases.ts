/** The ways to tamper with a log, each with the first event that must be named. */
import type { Finding, NotedRoot } from '../../src/event-log/verification.js';
import {
  at,
  ended,
  hashed,
  insert,
  rehash,
  reseal,
  rowsOf,
  sealOver,
  shift,
  type Database,
  type Row,
} from './tamper-tools.js';

export type Case = Readonly<{
  name: string;
  /** Does it; answers the position that must be named and what it is called. */
  tamper: (database: Database) => Readonly<{ position: number; kind: Finding['kind'] }>;
  root?: NotedRoot;
}>;

export const casesOn = (emails: readonly string[], noted: NotedRoot): readonly Case[] => {
  const victim = (): string => emails[1]!;
  return [
    {
      name: 'changed data',
      tamper: (database) => {
        const { position, data } = at(database, victim(), 0);
        database
          .prepare('UPDATE events SET data = ? WHERE position = ?')
          .run(data.replace('"normal"', '"low"'), position);
        return { position, kind: 'changed' };
      },
    },
    {
      name: 'one changed bit of a sealed part',
      tamper: (database) => {
        const { position, sealed } = at(database, victim(), 0);
        sealed![20]! ^= 1;
        database.prepare('UPDATE events SET sealed = ? WHERE position = ?').run(sealed, position);
        return { position, kind: 'changed' };
      },
    },
    {
      name: 'a sealed part taken away',
      tamper: (database) => {
        const { position } = at(database, victim(), 0);
        database.prepare('UPDATE events SET sealed = NULL WHERE position = ?').run(position);
        return { position, kind: 'changed' };
      },
    },
    {
      name: 'changed metadata',
      tamper: (database) => {
        const { position, metadata } = at(database, victim(), 1);
        database
          .prepare('UPDATE events SET metadata = ? WHERE position = ?')
          .run(metadata.replace('processor:', 'apiKey:'), position);
        return { position, kind: 'changed' };
      },
    },
    {
      name: 'changed type',
      tamper: (database) => {
        const { position } = at(database, victim(), 2);
        database.prepare("UPDATE events SET type = 'EmailFailed.v1' WHERE position = ?").run(position);
        return { position, kind: 'changed' };
      },
    },
    {
      name: 'another id in the column beside the metadata',
      tamper: (database) => {
        const { position } = at(database, victim(), 1);
        database.prepare("UPDATE events SET event_id = 'another' WHERE position = ?").run(position);
        return { position, kind: 'changed' };
      },
    },
    {
      name: 'changed hash',
      tamper: (database) => {
        const { position, hash } = at(database, victim(), 2);
        database.prepare('UPDATE events SET hash = ? WHERE position = ?').run([...hash].reverse().join(''), position);
        return { position, kind: 'changed' };
      },
    },
    {
      name: 'data changed and its hash made anew',
      tamper: (database) => {
        const row = at(database, victim(), 1);
        const changed = { ...row, data: row.data.replace('127.0.0.1', '127.0.0.2') };
        database
          .prepare('UPDATE events SET data = ?, hash = ? WHERE position = ?')
          .run(changed.data, hashed(at(database, victim(), 0).hash, changed), row.position);
        return { position: at(database, victim(), 2).position, kind: 'changed' };
      },
    },
    {
      name: 'removed in the middle of a stream',
      tamper: (database) => {
        const { position } = at(database, victim(), 1);
        database.prepare('DELETE FROM events WHERE position = ?').run(position);
        return { position: position + 1, kind: 'removed' };
      },
    },
    {
      name: 'removed in the middle of a stream, positions closed up',
      tamper: (database) => {
        const { position } = at(database, victim(), 1);
        const next = at(database, victim(), 2).position;
        database.prepare('DELETE FROM events WHERE position = ?').run(position);
        shift(database, position, -1);
        return { position: next - 1, kind: 'removed' };
      },
    },
    {
      name: 'the last event of a stream removed',
      tamper: (database) => {
        const { position } = rowsOf(database, victim()).at(-1)!;
        database.prepare('DELETE FROM events WHERE position = ?').run(position);
        return { position: position + 1, kind: 'removed' };
      },
    },
    {
      name: 'the last event of a stream removed, positions closed up',
      tamper: (database) => {
        const { position } = rowsOf(database, victim()).at(-1)!;
        const seal = sealOver(database, position);
        database.prepare('DELETE FROM events WHERE position = ?').run(position);
        shift(database, position, -1);
        return { position: seal - 1, kind: 'seal-broken' };
      },
    },
    {
      name: 'a whole stream removed, positions closed up',
      tamper: (database) => {
        const rows = rowsOf(database, victim()).reverse();
        const seal = sealOver(database, rows[0]!.position);
        for (const { position } of rows) {
          database.prepare('DELETE FROM events WHERE position = ?').run(position);
          shift(database, position, -1);
        }
        return { position: seal - rows.length, kind: 'seal-broken' };
      },
    },
    {
      name: 'moved to another stream',
      tamper: (database) => {
        const last = rowsOf(database, victim()).at(-1)!;
        const other = rowsOf(database, emails[0]!);
        database
          .prepare('UPDATE events SET stream = ?, revision = ? WHERE position = ?')
          .run(emails[0], other.length, last.position);
        return { position: last.position, kind: 'changed' };
      },
    },
    {
      name: 'a whole stream under another name',
      tamper: (database) => {
        const { position } = at(database, victim(), 0);
        database
          .prepare('UPDATE events SET stream = ? WHERE stream = ?')
          .run('email-00000000-0000-4000-8000-000000000000', victim());
        return { position, kind: 'changed' };
      },
    },
    {
      name: 'swapped order in one stream',
      tamper: (database) => {
        const first = at(database, victim(), 1).position;
        const second = at(database, victim(), 2).position;
        database.prepare('UPDATE events SET position = -1 WHERE position = ?').run(first);
        database.prepare('UPDATE events SET position = ? WHERE position = ?').run(first, second);
        database.prepare('UPDATE events SET position = ? WHERE position = -1').run(second);
        return { position: first, kind: 'removed' };
      },
    },
    {
      name: 'swapped order of two streams',
      tamper: (database) => {
        const first = at(database, emails[0]!, 0).position;
        const second = at(database, victim(), 0).position;
        const rows = rowsOf(database).filter(({ stream }) => stream === emails[0] || stream === victim());
        const places = rows.map(({ position }) => position);
        const swapped = [
          ...rows.filter(({ stream }) => stream === victim()),
          ...rows.filter(({ stream }) => stream === emails[0]),
        ];
        for (const { position } of rows)
          database.prepare('UPDATE events SET position = -position WHERE position = ?').run(position);
        swapped.forEach(
          ({ position }, index) =>
            void database.prepare('UPDATE events SET position = ? WHERE position = ?').run(places[index], -position),
        );
        return { position: sealOver(database, Math.min(first, second)), kind: 'seal-broken' };
      },
    },
    {
      name: 'a forged event slipped in with the right hash',
      tamper: (database) => {
        const last = rowsOf(database, victim()).at(-1)!;
        const seal = sealOver(database, last.position);
        shift(database, last.position + 1, 1);
        const forged: Row = {
          ...last,
          position: last.position + 1,
          revision: last.revision + 1,
          type: 'EmailDelivered.v1',
          data: last.data,
          sealed: null,
        };
        insert(database, { ...forged, hash: hashed(last.hash, forged) });
        return { position: seal + 1, kind: 'seal-broken' };
      },
    },
    {
      name: 'a forged event slipped in between two of a stream',
      tamper: (database) => {
        const before = at(database, victim(), 1);
        shift(database, before.position + 1, 1);
        database
          .prepare('UPDATE events SET revision = -revision WHERE stream = ? AND revision > ?')
          .run(victim(), before.revision);
        database.prepare('UPDATE events SET revision = -revision + 1 WHERE stream = ? AND revision < 0').run(victim());
        const forged: Row = { ...before, position: before.position + 1, revision: before.revision + 1, sealed: null };
        insert(database, { ...forged, hash: hashed(before.hash, forged) });
        return { position: at(database, victim(), 3).position, kind: 'changed' };
      },
    },
    {
      name: 'a whole stream rewritten with its hashes made anew',
      tamper: (database) => {
        const { position, data } = at(database, victim(), 0);
        database
          .prepare('UPDATE events SET data = ? WHERE position = ?')
          .run(data.replace('"normal"', '"low"'), position);
        rehash(database, victim());
        return { position: sealOver(database, position), kind: 'seal-broken' };
      },
    },
    {
      name: 'a whole stream rewritten with all seals made anew, against a noted root',
      root: noted,
      tamper: (database) => {
        const { position, data } = at(database, victim(), 0);
        database
          .prepare('UPDATE events SET data = ? WHERE position = ?')
          .run(data.replace('"normal"', '"low"'), position);
        rehash(database, victim());
        reseal(database);
        return { position: noted.position, kind: 'seal-broken' };
      },
    },
    {
      name: 'the end of the log cut off, against a noted root',
      root: noted,
      tamper: (database) => {
        database.prepare('DELETE FROM events WHERE position >= ?').run(sealOver(database, noted.position));
        return { position: ended(database), kind: 'cut-off' };
      },
    },
    {
      name: 'all of the log gone, against a noted root',
      root: noted,
      tamper: (database) => {
        database.exec('DELETE FROM events');
        return { position: 0, kind: 'cut-off' };
      },
    },
    {
      name: 'a seal removed',
      tamper: (database) => {
        const { position } = rowsOf(database, 'ledger')[0]!;
        database.prepare('DELETE FROM events WHERE position = ?').run(position);
        return { position: position + 1, kind: 'removed' };
      },
    },
    {
      name: 'a forged seal that no reader understands',
      tamper: (database) => {
        const last = rowsOf(database, 'ledger').at(-1)!;
        const forged: Row = {
          ...last,
          position: ended(database) + 1,
          revision: last.revision + 1,
          type: 'Nonsense.v9',
          data: '{',
        };
        insert(database, { ...forged, hash: hashed(last.hash, forged) });
        return { position: forged.position, kind: 'inserted' };
      },
    },
  ];
};
