/**
 * Exports the audit log of a team from the event log, as lines of JSON or a table, with the proof of each entry against
 * the seals of the ledger. Each line carries the link of a chain over all lines up to it.
 */
import { hash as digestOf } from 'node:crypto';
import type { AuditEntryRecord, AuditFormat } from '../../api/audit.js';
import { type ProvenLeaf, sealOf, type Seal, merkleProof } from '../../event-log/ledger.js';
import { auditRecordOf } from './entries.js';
import type { AccessNeeds } from '../access/needs.js';
import {
  type AuditEntry,
  isWithinMembership,
  changesMemberships,
  membershipsAfter,
  type AuditMembership,
} from '../../domain/audit/entry.js';
import { DomainError } from '../../domain/core/errors.js';
import { auditedTypes, auditEntryOf } from '../../domain/events.js';
import { LEDGER_STREAM, teamStream, type TeamId } from '../../domain/core/ids.js';
import { isoTime, DAY_MS, HOUR_MS } from '../../domain/core/time.js';
import type { EventStore, StoredEvent } from '../../domain/ports/event-store.js';
import { decodeEvent, namesOf } from '../../event-log/codec.js';
import {
  chainStart,
  FIRST_SEAL,
  merkleRoot,
  plainHash,
  sealedHashOf,
  readableMetadata,
} from '../../event-log/hash-chain.js';

type AuditExportDeps = Pick<AccessNeeds, 'eventLog' | 'origins' | 'clock' | 'limits'> &
  Readonly<{ store: Pick<EventStore, 'readAll' | 'readStream'> & Partial<Pick<EventStore, 'types'>> }>;

/** `from`, `to`: moments in UTC. */
export type AuditPeriod = Readonly<{ from?: string | undefined; to?: string | undefined }>;

/** Result of an export. `root`: the link of its last line. */
export type Exported = Readonly<{ entries: number; upTo: number; root: string }>;

/** Events of a segment so long are read at once: far more than a seal covers. */
const SEGMENT_EVENTS_MAX = 50_000;

/**
 * An event is sealed after it is appended, and appended after it is decided on; clocks of several processes may be
 * apart.
 */
const APART_MS = HOUR_MS;

/**
 * The seals that cover a period: the one before it, up to which `skipped` events stand, and how many events they cover.
 */
type Covering = Readonly<{ before: Seal | undefined; skipped: number; last: Seal; events: number }>;

async function* sealsOf({ store }: Pick<AuditExportDeps, 'store'>): AsyncGenerator<Seal & Readonly<{ at: string }>> {
  for await (const { events } of store.readAll(0, { kinds: ['ledger'] }))
    for (const event of events) {
      if (event.stream !== LEDGER_STREAM) continue;
      const decoded = decodeEvent(event.type, event.data, undefined);
      if (decoded.type === 'LedgerSealed') yield decoded.data;
    }
}

const coveringOf = async (deps: AuditExportDeps, { from, to }: AuditPeriod): Promise<Covering | undefined> => {
  const start = from === undefined ? '' : isoTime(Date.parse(from) - APART_MS);
  const end = to === undefined ? undefined : isoTime(Date.parse(to) + APART_MS);
  let before: Seal | undefined;
  let last: Seal | undefined;
  let [skipped, events] = [0, 0];
  for await (const seal of sealsOf(deps)) {
    if (seal.at < start) {
      before = seal;
      skipped += seal.count;
    } else {
      last = seal;
      events += seal.count;
    }
    if (end !== undefined && last !== undefined && seal.at > end) break;
  }
  return last && { before, skipped, last, events };
};

/** Rejects with AUDIT_EXPORT_TOO_LARGE. Entries are read only when their text is consumed. */
export const openAuditExport = async (
  deps: AuditExportDeps,
  team: Readonly<{ teamId: TeamId; format: AuditFormat }>,
  given: AuditPeriod,
  done: (exported: Exported) => Promise<void>,
): Promise<AsyncGenerator<string>> => {
  const kept = isoTime(deps.clock.now() - deps.limits.auditDays * DAY_MS);
  const period = { from: given.from === undefined || given.from < kept ? kept : given.from, to: given.to };
  const covering = await coveringOf(deps, period);
  const max = deps.limits.auditExportEventsMax;
  if (covering !== undefined && covering.events > max)
    throw new DomainError(
      'AUDIT_EXPORT_TOO_LARGE',
      `In this period the log has ${covering.events} events, all of which an export proves itself against; at most ${max} at once. Ask for a shorter period by \`from\` and \`to\`.`,
    );
  return linesOf(deps, { ...team, period, given, covering }, await exportWriter(team.format), done);
};

/**
 * The event of which an entry is made, as it stands in the log. `sealed`: the hash of its sealed part, empty where it
 * has none.
 */
type ExportedEvent = Readonly<{
  stream: string;
  revision: number;
  type: string;
  previous: string;
  sealed: string;
  data: string;
  metadata: string;
}>;

type HeadLine = Readonly<{
  kind: 'export';
  version: 1;
  team: string;
  from: string | null;
  to: string | null;
  madeAt: string;
  previous: string;
}>;
/** `place`: of its event in the segment that follows. */
export type EntryLine = Readonly<{ kind: 'entry'; place: number; entry: AuditEntryRecord; event: ExportedEvent }>;
/**
 * One segment of the ledger, behind its entries: so many events up to that position, of which `leaves` are the entries,
 * and `siblings` what the proof needs beside them. `tree`: the root of its events where none is an entry. `root`: of
 * the seal, which covers all seals before it.
 */
export type SegmentLine = Readonly<{
  kind: 'segment';
  position: number;
  count: number;
  root: string;
  leaves: readonly ProvenLeaf[];
  siblings: readonly string[];
  tree: string | null;
}>;
type EndLine = Readonly<{ kind: 'end'; entries: number; upTo: number }>;
export type ExportLine = HeadLine | EntryLine | SegmentLine | EndLine;

/** One line of the file taken apart: what it says, the text that its link covers, and the link. */
export type ReadLine = Readonly<{ line: ExportLine; body: string; chain: string }>;

export const CHAIN_START = digestOf('sha256', 'sealpost audit export', 'hex');

/** The link of a line, over its text and all lines before it. */
export const chainAfter = (chain: string, body: string): string => digestOf('sha256', `${chain}\n${body}`, 'hex');

type ExportWriter = Readonly<{
  /** The text of the line, with its line break. */
  write: (line: ExportLine) => string;
  /** The link of the line written last. */
  chain: () => string;
  /** Text before all lines. */
  head: string;
}>;

/** The columns of the table. In lines that are no entries, all columns but the first and the last two are empty. */
const columns = [
  'kind',
  'id',
  'at',
  'scope',
  'category',
  'action',
  'actor_type',
  'actor_id',
  'target_type',
  'target_id',
  'result',
  'code',
  'count',
  'detail',
  'network',
  'agent',
  'request_id',
  'proof',
  'chain',
] as const;

type Cells = readonly string[];

const cellsOf = (line: ExportLine): Cells => {
  if (line.kind !== 'entry') return [line.kind, ...Array<string>(columns.length - 3).fill(''), JSON.stringify(line)];
  const { entry, ...proof } = line;
  const { id, at, scope, category, action, actor, target, result, code, count, detail, network, agent, requestId } =
    entry;
  const values = [
    id,
    at,
    scope,
    category,
    action,
    actor.type,
    actor.id,
    target?.type,
    target?.id,
    result,
    code,
    count,
    detail,
    network,
    agent,
    requestId,
  ];
  return [line.kind, ...values.map((value) => String(value ?? '')), JSON.stringify(proof)];
};

const optional = (text: string): string | null => (text === '' ? null : text);

const entryOfRow = (cells: Cells): AuditEntryRecord => {
  const [, id = '', at = '', scope, category, action = '', actorType, actorId = '', targetType = '', targetId = ''] =
    cells;
  const [result, code = '', count, detail = '', network = '', agent = '', requestId = ''] = cells.slice(10);
  return {
    id,
    at,
    scope: scope as AuditEntryRecord['scope'],
    category: category as AuditEntryRecord['category'],
    action,
    actor: { type: actorType as AuditEntryRecord['actor']['type'], id: optional(actorId) },
    target: targetType === '' ? null : { type: targetType, id: targetId },
    result: result as AuditEntryRecord['result'],
    code: optional(code),
    count: Number(count),
    detail: optional(detail),
    network: optional(network),
    // An agent that says nothing is not told apart from none.
    agent: optional(agent),
    requestId,
  };
};

/** A cell that begins like a formula has an apostrophe before it; it is taken away again by whoever checks. */
const FORMULA = /^'(?=[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])/;

/** In: the format. Out: what makes the text of each line in turn. */
const exportWriter = async (format: AuditFormat): Promise<ExportWriter> => {
  let chain = CHAIN_START;
  const link = (body: string): string => (chain = chainAfter(chain, body));
  if (format === 'jsonl') {
    const write = (line: ExportLine): string => {
      const body = JSON.stringify(line);
      return `${body.slice(0, -1)},"chain":"${link(body)}"}\n`;
    };
    return { head: '', write, chain: () => chain };
  }
  const { stringify } = await import('csv-stringify/sync');
  const rowOf = (cells: Cells): string => stringify([[...cells]], { quoted: true, escape_formulas: true, eof: false });
  return {
    head: `${columns.join(',')}\r\n`,
    write: (line) => {
      const body = rowOf(cellsOf(line));
      return `${body},"${link(body)}"\r\n`;
    },
    chain: () => chain,
  };
};

const CHAIN_IN_JSON = /,"chain":"([0-9a-f]{64})"\}$/;
const CHAIN_IN_ROW = /,"([0-9a-f]{64})"$/;

/** Reads one line of a file; undefined where it is none of an export. */
export type ExportReader = (text: string) => ReadLine | undefined;

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const isLine = (value: unknown): value is ExportLine =>
  typeof value === 'object' &&
  value !== null &&
  'kind' in value &&
  ['export', 'entry', 'segment', 'end'].includes(String(value.kind));

const readJson: ExportReader = (text) => {
  const chain = CHAIN_IN_JSON.exec(text)?.[1];
  if (chain === undefined) return undefined;
  const body = `${text.slice(0, -CHAIN_IN_JSON.exec(text)![0].length)}}`;
  const line = parsed(body);
  return isLine(line) ? { line, body, chain } : undefined;
};

/** In: the first line of the file. Out: the reader of the others, and whether the first is one of them. */
export const exportReader = async (first: string): Promise<Readonly<{ read: ExportReader; isHead: boolean }>> => {
  if (first !== columns.join(',')) return { read: readJson, isHead: false };
  const { parse } = await import('csv-parse/sync');
  const cellsIn = (body: string): Cells | undefined => {
    try {
      const [cells] = parse(body) as string[][];
      return cells?.map((cell) => cell.replace(FORMULA, ''));
    } catch {
      return undefined;
    }
  };
  const read: ExportReader = (text) => {
    const chain = CHAIN_IN_ROW.exec(text)?.[1];
    if (chain === undefined) return undefined;
    const body = text.slice(0, -(chain.length + 3));
    const cells = cellsIn(body);
    if (cells?.length !== columns.length - 1) return undefined;
    const proof = parsed(cells.at(-1)!);
    if (!isLine(proof) || proof.kind !== cells[0]) return undefined;
    return { line: proof.kind === 'entry' ? { ...proof, entry: entryOfRow(cells) } : proof, body, chain };
  };
  return { read, isHead: true };
};

type Asked = Readonly<{ teamId: TeamId; period: AuditPeriod; given: AuditPeriod; covering: Covering | undefined }>;

async function* linesOf(
  deps: AuditExportDeps,
  asked: Asked,
  writer: ExportWriter,
  done: (exported: Exported) => Promise<void>,
): AsyncGenerator<string> {
  const { teamId, given, covering } = asked;
  const isTold = toldTo(teamId, asked.period, await membershipsOf(deps, teamId));
  yield (
    writer.head +
    writer.write({
      kind: 'export',
      version: 1,
      team: teamId,
      from: given.from ?? null,
      to: given.to ?? null,
      madeAt: isoTime(deps.clock.now()),
      previous: covering?.before?.root ?? FIRST_SEAL,
    })
  );
  let entries = 0;
  if (covering !== undefined) {
    const events = evidence(deps);
    for await (const segment of segmentsOf(deps, covering)) {
      const told = segment.events.flatMap((event, place) => entryOf(event, place, isTold) ?? []);
      const origins = await deps.origins.read(told.flatMap(({ entry }) => entry.origin ?? []));
      for (const { entry, place, stored } of told) {
        const from = entry.origin === null ? undefined : origins.get(entry.origin);
        const line: EntryLine = {
          kind: 'entry',
          place,
          entry: auditRecordOf(teamId, entry, from),
          event: await events(stored),
        };
        yield writer.write(line);
        entries += 1;
      }
      yield writer.write(
        segmentLine(
          segment,
          told.map(({ place }) => place),
        ),
      );
    }
  }
  const upTo = covering?.last.position ?? 0;
  const end = writer.write({ kind: 'end', entries, upTo });
  // Record who exports before the end of the file is handed out.
  await done({ entries, upTo, root: writer.chain() });
  yield end;
}

type Told = Readonly<{ entry: AuditEntry; place: number; stored: StoredEvent }>;

const audited: ReadonlySet<string> = namesOf(auditedTypes);

const entryOf = (stored: StoredEvent, place: number, isTold: (entry: AuditEntry) => boolean): Told | undefined => {
  if (!audited.has(stored.type)) return undefined;
  const metadata = readableMetadata(stored);
  if (metadata === undefined || metadata.dataFile !== undefined) return undefined;
  const entry = auditEntryOf({
    event: decodeEvent(stored.type, stored.data, undefined),
    stream: stored.stream,
    metadata,
  });
  return entry !== undefined && isTold(entry) ? { entry, place, stored } : undefined;
};

const toldTo =
  (teamId: TeamId, { from = '', to }: AuditPeriod, spells: readonly AuditMembership[]) =>
  (entry: AuditEntry): boolean =>
    entry.at >= from &&
    (to === undefined || entry.at <= to) &&
    (entry.scope === teamId || spells.some((spell) => isWithinMembership(spell, entry)));

const membershipsOf = async ({ eventLog }: AuditExportDeps, teamId: TeamId): Promise<readonly AuditMembership[]> => {
  let spells: readonly AuditMembership[] = [];
  for (const { event } of await eventLog.load(teamStream(teamId), 0, []))
    if (changesMemberships(event)) spells = membershipsAfter(spells, event);
  return spells;
};

type Segment = Readonly<{ seal: Seal; events: readonly StoredEvent[] }>;

const segmentLine = ({ seal: { position, count, root }, events }: Segment, places: readonly number[]): SegmentLine => {
  const hashes = events.map(({ hash }) => plainHash(hash));
  const leaves = places.map((place) => [place, hashes[place]!] as const);
  return {
    kind: 'segment',
    position,
    count,
    root,
    leaves,
    siblings: merkleProof(hashes, places),
    tree: places.length === 0 ? merkleRoot(hashes) : null,
  };
};

/**
 * Seals of a log that was copied from another engine name the positions of that one: then the events before the first
 * segment are counted.
 */
async function* segmentsOf(deps: AuditExportDeps, covering: Covering): AsyncGenerator<Segment> {
  const { before, skipped } = covering;
  let isBegun = false;
  try {
    for await (const segment of segmentsAfter(deps, covering, { after: before?.position ?? 0, skipped: 0 })) {
      isBegun = true;
      yield segment;
    }
  } catch (fault) {
    if (isBegun || before === undefined || !(fault instanceof SealMissed)) throw fault;
    yield* segmentsAfter(deps, covering, { after: 0, skipped });
  }
}

class SealMissed extends Error {
  override readonly name = 'SealMissed';
}

/** Reading begins after a position, and passes over so many events from there. */
type Beginning = Readonly<{ after: number; skipped: number }>;

/** Events that are no entries keep only their hash in memory. */
async function* segmentsAfter(
  deps: AuditExportDeps,
  { before, last }: Covering,
  { after, skipped }: Beginning,
): AsyncGenerator<Segment> {
  let previous = before;
  let open: StoredEvent[] = [];
  let seen = 0;
  for await (const { events } of deps.store.readAll(after)) {
    for (const event of events) {
      seen += 1;
      if (seen <= skipped) continue;
      open.push(audited.has(event.type) ? event : { ...event, data: '', metadata: '', sealed: undefined });
      if (open.length > 2 * SEGMENT_EVENTS_MAX)
        throw new SealMissed('the ledger has no seal over far more events than one covers');
      if (event.stream !== LEDGER_STREAM) continue;
      const decoded = decodeEvent(event.type, event.data, undefined);
      // Several segments may be sealed before the first of their seals is appended.
      if (decoded.type !== 'LedgerSealed' || decoded.data.position <= (before?.position ?? 0)) continue;
      const { position, count, root } = decoded.data;
      const covered = open.slice(0, count);
      if (
        sealOf(
          previous,
          covered.map(({ hash }) => hash),
          position,
        ).root !== root
      )
        throw new SealMissed(
          `the events up to position ${position} are not those that their seal covers; run sealpost verify`,
        );
      previous = { position, count, root };
      yield { seal: previous, events: covered };
      open = open.slice(count);
      if (root === last.root) return;
    }
  }
}

const STREAMS_MAX = 10_000;

/**
 * Evidence that an event is in the log; the hash before it is that of its predecessor, which is read once for each
 * stream.
 */
const evidence = ({ store }: AuditExportDeps): ((stored: StoredEvent) => Promise<ExportedEvent>) => {
  const newest = new Map<string, Readonly<{ revision: number; hash: string }>>();
  const previousOf = async (stream: string, revision: number): Promise<string> => {
    if (revision === 0) return chainStart(stream);
    const known = newest.get(stream);
    if (known?.revision === revision - 1) return known.hash;
    const [before] = await store.readStream(stream, revision - 1);
    if (before === undefined) throw new Error(`revision ${revision - 1} of ${stream} is missing`);
    return plainHash(before.hash);
  };
  return async ({ stream, revision, type, data, metadata, sealed, hash }) => {
    const previous = await previousOf(stream, revision);
    if (newest.size >= STREAMS_MAX) newest.clear();
    newest.set(stream, { revision, hash: plainHash(hash) });
    return { stream, revision, type, previous, sealed: sealedHashOf(sealed), data, metadata };
  };
};
