/**
 * Changes to a log by somebody who has the whole data directory with its master key, but not the seal key. They compute
 * hashes, roots, marks, tags and seals anew with the keys they have. Each case is found, or docs/promises.md names it
 * as beyond the promise.
 */
import type { SealKey } from '../../src/domain/ports/keys.js';
import { plainHash } from '../../src/event-log/hash-chain.js';
import { signedText } from '../../src/event-log/ledger.js';
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

/** Keys and tools of the attacker. */
export type Attacker = Readonly<{
  /** The key that is derived from the master key. */
  derived: SealKey;
  /** A key of their own. */
  own: SealKey;
  fingerprint: (purpose: string, text: string | Uint8Array) => string;
  /** The id of the seal key, which stands in each seal. */
  sealKeyId: string;
}>;

export type SealCase = Readonly<{
  name: string;
  tamper: (database: Database, attacker: Attacker) => void;
  /**
   * `log`: found by the log and the seal key alone; `kept`: by the seals that were kept elsewhere; otherwise a sentence
   * of docs/promises.md that says that it is not found.
   */
  found: 'log' | 'kept' | Readonly<{ beyond: string }>;
}>;

/** Every hash of the log and every seal, made anew under a key, or without one. */
const allAnew = (database: Database, key?: SealKey): void => {
  for (const stream of new Set(rowsOf(database).map(({ stream }) => stream))) rehash(database, stream, key);
  reseal(database, key);
};

const update = (database: Database, column: 'data' | 'metadata' | 'hash', value: string, position: number): void =>
  void database.prepare(`UPDATE events SET ${column} = ? WHERE position = ?`).run(value, position);

const lastSeal = (database: Database): Row =>
  rowsOf(database, 'ledger').findLast(({ type }) => type.startsWith('LedgerSealed'))!;

type SealData = { at: string; position: number; count: number; root: string; key?: string; mac?: string };

/** Writes another seal in place of the newest. */
const replaceSeal = (database: Database, change: (seal: SealData) => SealData, key?: SealKey): void => {
  const row = lastSeal(database);
  update(database, 'data', JSON.stringify(change(JSON.parse(row.data) as SealData)), row.position);
  rehash(database, 'ledger', key);
};

/** Appends an event to a stream as the service would, but for the key. */
const append = (
  database: Database,
  stream: string,
  { type, data, metadata }: Pick<Row, 'type' | 'data' | 'metadata'>,
  key?: SealKey,
): void => {
  const last = rowsOf(database, stream).at(-1)!;
  const row = {
    ...last,
    type,
    data,
    metadata,
    sealed: null,
    position: ended(database) + 1,
    revision: last.revision + 1,
  };
  const hash = hashed(last.hash, row);
  insert(database, { ...row, hash: key === undefined ? hash : hash + key.tag(hash) });
};

export const sealCases = (emails: readonly string[]): readonly SealCase[] => {
  const victim = emails[1]!;
  const unsealed = emails.at(-1)!;
  const changed = (name: string, change: (row: Row) => readonly ['data' | 'metadata', string]): readonly SealCase[] =>
    (['with the derived key', 'without a key'] as const).map((how) => ({
      name: `${name}, and all hashes and seals made anew ${how}`,
      found: 'log',
      tamper: (database, { derived }) => {
        const row = at(database, victim, 1);
        update(database, ...change(row), row.position);
        allAnew(database, how === 'without a key' ? undefined : derived);
      },
    }));
  return [
    ...changed('a changed event', ({ data }) => ['data', data.replace('127.0.0.1', '127.0.0.2')]),
    ...changed('a changed time', ({ metadata }) => [
      'metadata',
      metadata.replace(/"occurredAt":"\d{4}/, '"occurredAt":"2001'),
    ]),
    ...changed('a changed actor', ({ metadata }) => ['metadata', metadata.replace('processor:', 'apiKey:')]),
    {
      name: 'a changed event behind the newest seal, its stream made anew with the derived key',
      found: 'log',
      tamper: (database, { derived }) => {
        const { data, position } = at(database, unsealed, 1);
        update(database, 'data', data.replace('127.0.0.1', '127.0.0.2'), position);
        rehash(database, unsealed, derived);
      },
    },
    {
      name: 'a removed event, all made anew with the derived key',
      found: 'log',
      tamper: (database, { derived }) => {
        const { position } = rowsOf(database, victim).at(-1)!;
        database.prepare('DELETE FROM events WHERE position = ?').run(position);
        shift(database, position, -1);
        allAnew(database, derived);
      },
    },
    {
      name: 'an inserted event, all made anew with the derived key',
      found: 'log',
      tamper: (database, { derived }) => {
        const last = rowsOf(database, victim).at(-1)!;
        shift(database, last.position + 1, 1);
        insert(database, { ...last, position: last.position + 1, revision: last.revision + 1, sealed: null });
        allAnew(database, derived);
      },
    },
    {
      name: 'two events in another order, all made anew with the derived key',
      found: 'log',
      tamper: (database, { derived }) => {
        const [one, other] = [rowsOf(database, emails[0]!).at(-1)!.position, at(database, victim, 0).position];
        for (const [from, to] of [
          [one, -1],
          [other, one],
          [-1, other],
        ] as const)
          database.prepare('UPDATE events SET position = ? WHERE position = ?').run(to, from);
        allAnew(database, derived);
      },
    },
    ...(['without a tag', 'with a tag of the derived key', 'with the tag of another event'] as const).map(
      (how): SealCase => ({
        name: `an event appended after the newest seal ${how}`,
        found: 'log',
        tamper: (database, { derived }) => {
          const last = rowsOf(database, unsealed).at(-1)!;
          append(
            database,
            unsealed,
            last,
            how === 'without a tag'
              ? undefined
              : { ...derived, ...(how.endsWith('event') && { tag: () => last.hash.slice(64) }) },
          );
        },
      }),
    ),
    {
      name: 'an API key of a new stream, appended after the newest seal',
      found: 'log',
      tamper: (database, { derived }) => {
        const row = rowsOf(database).findLast(({ type }) => type.startsWith('ApiKeyCreated'))!;
        const forged = { ...row, stream: 'apiKey-key_AAAAAAAAAAAAAAAAAAAAAA', position: ended(database) + 1 };
        insert(database, forged);
        rehash(database, forged.stream, derived);
      },
    },
    {
      name: 'a seal signed by the derived key in the name of the seal key',
      found: 'log',
      tamper: (database, { derived, sealKeyId }) =>
        replaceSeal(
          database,
          (seal) => ({ ...seal, key: sealKeyId, mac: String(derived.sign(signedText(seal))) }),
          derived,
        ),
    },
    {
      name: 'a seal by the derived key',
      found: 'log',
      tamper: (database, { derived }) =>
        replaceSeal(
          database,
          (seal) => ({ ...seal, key: derived.id, mac: String(derived.sign(signedText(seal))) }),
          derived,
        ),
    },
    {
      name: 'a seal without a key',
      found: 'log',
      tamper: (database) => replaceSeal(database, ({ key, mac, ...seal }) => (void [key, mac], seal)),
    },
    {
      name: 'a seal with the signature of another',
      found: 'log',
      tamper: (database) => {
        const { mac } = JSON.parse(
          rowsOf(database, 'ledger').find(({ type }) => type.startsWith('LedgerSealed'))!.data,
        ) as SealData;
        replaceSeal(database, (seal) => ({ ...seal, ...(mac !== undefined && { mac }) }));
      },
    },
    {
      name: 'a seal with another time',
      found: 'log',
      tamper: (database) => replaceSeal(database, (seal) => ({ ...seal, at: '2001-01-01T00:00:00.000Z' })),
    },
    {
      name: 'all made anew with a key of their own',
      found: 'log',
      tamper: (database, { own }) => allAnew(database, own),
    },
    {
      name: 'all seals removed, all made anew with the derived key',
      found: 'log',
      tamper: (database, { derived }) => {
        for (const { position } of rowsOf(database, 'ledger').reverse()) {
          database.prepare('DELETE FROM events WHERE position = ?').run(position);
          shift(database, position, -1);
        }
        allAnew(database, derived);
      },
    },
    {
      name: 'a tag of another event',
      found: 'log',
      tamper: (database) => {
        const [one, other] = [at(database, unsealed, 0), at(database, unsealed, 1)];
        update(database, 'hash', plainHash(one.hash) + other.hash.slice(64), one.position);
      },
    },
    {
      name: 'a tag taken away',
      found: 'log',
      tamper: (database) => {
        const { hash, position } = rowsOf(database, unsealed).at(-1)!;
        update(database, 'hash', plainHash(hash), position);
      },
    },
    {
      name: 'the log of an hour ago, with its seals',
      found: 'kept',
      tamper: (database) =>
        void database
          .prepare('DELETE FROM events WHERE position >= ?')
          .run(sealOver(database, at(database, emails[3]!, 0).position)),
    },
    { name: 'no log', found: 'kept', tamper: (database) => database.exec('DELETE FROM events') },
    {
      name: 'the last events cut off behind the newest seal',
      found: { beyond: 'The last events behind the newest seal can be cut off' },
      tamper: (database) =>
        void database.prepare('DELETE FROM events WHERE position > ?').run(lastSeal(database).position),
    },
    {
      name: 'ids of events emptied beside their metadata',
      found: { beyond: 'ids of events in the column beside their metadata' },
      tamper: (database) => database.exec('UPDATE events SET event_id = NULL'),
    },
    {
      name: 'a row of a type and a stream that nothing reads',
      found: 'log',
      tamper: (database) =>
        insert(database, { ...at(database, victim, 0), stream: 'x', position: ended(database) + 1, type: ' x' }),
    },
    {
      name: 'the list of types beside the events',
      found: { beyond: 'the list of types' },
      tamper: (database) => database.exec("DELETE FROM event_types WHERE type LIKE 'Email%'"),
    },
  ];
};
