/** Exports the audit log of a team from the log itself, with what proves each entry against the seals of the ledger. */
import { auditRecordOf } from './entries.js';
import { exportWriter, type EntryLine, type ExportedEvent, type ExportWriter, type SegmentLine } from './export-lines.js';
import type { CommandDeps } from '../core/deps.js';
import type { AuditFormat } from '../../api/audit.js';
import { auditEntryOf, isAudited, type AuditEntry } from '../../domain/audit/entry.js';
import { isToldBySpell, changesSpells, spellsAfter, type AuditSpell } from '../../domain/audit/spells.js';
import { auditTable } from '../../domain/audit/table.js';
import { DomainError } from '../../domain/core/errors.js';
import type { EventType } from '../../domain/events.js';
import { LEDGER_STREAM, teamStream, type TeamId } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { EventStore, StoredEvent } from '../../domain/ports/event-store.js';
import { DAY_MS, HOUR_MS } from '../../domain/core/time.js';
import { decodeEvent, namesOf } from '../../event-log/codec.js';
import { chainStart, FIRST_SEAL, merkleRoot, sealedHashOf } from '../../event-log/hash-chain.js';
import { sealOf, type Seal } from '../../event-log/ledger.js';
import { merkleProof } from '../../event-log/merkle-proof.js';
import { readableMetadata } from '../../event-log/metadata.js';
import { withRetired, type RetiredEvent } from '../../event-log/retirement.js';

export type AuditExportDeps = Pick<CommandDeps, 'eventLog' | 'origins' | 'clock' | 'limits'> &
  Readonly<{ store: Pick<EventStore, 'readAll' | 'readStream'> & Partial<Pick<EventStore, 'types'>> }>;

/** `from`, `to`: moments in UTC. */
export type AuditPeriod = Readonly<{ from?: string | undefined; to?: string | undefined }>;

/** What the file came to. `root`: the link of its last line. */
export type Exported = Readonly<{ entries: number; upTo: number; root: string }>;

/** Events of a segment so long are read at once: far more than a seal covers. */
const SEGMENT_EVENTS_MAX = 50_000;
/** An event is sealed after it is appended, and appended after it is decided on; clocks of several processes may be apart. */
const APART_MS = HOUR_MS;

/** The seals that cover a period: the one before it, up to which `skipped` events stand, and how many events they cover. */
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

/** Rejects with AUDIT_EXPORT_TOO_LARGE. Nothing is read of the entries until their text is taken. */
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

type Asked = Readonly<{ teamId: TeamId; period: AuditPeriod; given: AuditPeriod; covering: Covering | undefined }>;

async function* linesOf(
  deps: AuditExportDeps,
  asked: Asked,
  writer: ExportWriter,
  done: (exported: Exported) => Promise<void>,
): AsyncGenerator<string> {
  const { teamId, given, covering } = asked;
  const isTold = toldTo(teamId, asked.period, await spellsOf(deps, teamId));
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
        const line: EntryLine = { kind: 'entry', place, entry: auditRecordOf(teamId, entry, from), event: await events(stored) };
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
  // Whoever has the whole file is named in the log before they have it.
  await done({ entries, upTo, root: writer.chain() });
  yield end;
}

type Told = Readonly<{ entry: AuditEntry; place: number; stored: StoredEvent }>;

const audited: ReadonlySet<string> = namesOf((Object.keys(auditTable) as EventType[]).filter(isAudited));

const entryOf = (stored: StoredEvent, place: number, isTold: (entry: AuditEntry) => boolean): Told | undefined => {
  if (!audited.has(stored.type)) return undefined;
  const metadata = readableMetadata(stored);
  if (metadata === undefined || metadata.dataFile !== undefined) return undefined;
  const entry = auditEntryOf({ event: decodeEvent(stored.type, stored.data, undefined), stream: stored.stream, metadata });
  return entry !== undefined && isTold(entry) ? { entry, place, stored } : undefined;
};

const toldTo =
  (teamId: TeamId, { from = '', to }: AuditPeriod, spells: readonly AuditSpell[]) =>
  (entry: AuditEntry): boolean =>
    entry.at >= from &&
    (to === undefined || entry.at <= to) &&
    (entry.scope === teamId || spells.some((spell) => isToldBySpell(spell, entry)));

const spellsOf = async ({ eventLog }: AuditExportDeps, teamId: TeamId): Promise<readonly AuditSpell[]> => {
  let spells: readonly AuditSpell[] = [];
  for (const { event } of await eventLog.load(teamStream(teamId), 0, [])) if (changesSpells(event)) spells = spellsAfter(spells, event);
  return spells;
};

type Segment = Readonly<{ seal: Seal; events: readonly StoredEvent[] }>;

const segmentLine = ({ seal: { position, count, root }, events }: Segment, places: readonly number[]): SegmentLine => {
  const hashes = events.map(({ hash }) => hash);
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

/** Seals of a log that was copied from another engine name the positions of that one: then the events before the first segment are counted. */
async function* segmentsOf(deps: AuditExportDeps, covering: Covering): AsyncGenerator<Segment> {
  const { before, skipped } = covering;
  let isBegun = false;
  try {
    for await (const segment of segmentsAfter(deps, covering, { after: before?.position ?? 0, passed: skipped, skipped: 0 })) {
      isBegun = true;
      yield segment;
    }
  } catch (fault) {
    if (isBegun || before === undefined || !(fault instanceof SealMissed)) throw fault;
    yield* segmentsAfter(deps, covering, { after: 0, passed: 0, skipped });
  }
}

class SealMissed extends Error {
  override readonly name = 'SealMissed';
}

/** Where reading begins: after a position, up to which `passed` events stand, and how many are passed over from there. */
type Beginning = Readonly<{ after: number; passed: number; skipped: number }>;

/** An event that has left the log is none that is listed: its hash is all that is needed of it. */
const leafOf = ({ stream, revision, hash }: RetiredEvent): StoredEvent => ({
  eventId: '',
  stream,
  revision,
  position: 0,
  type: '',
  data: '',
  metadata: '',
  sealed: undefined,
  hash,
});

/** What is no entry keeps no more than its hash in memory. */
async function* segmentsAfter(
  deps: AuditExportDeps,
  { before, last }: Covering,
  { after, passed, skipped }: Beginning,
): AsyncGenerator<Segment> {
  let previous = before;
  let open: StoredEvent[] = [];
  let seen = 0;
  for await (const items of withRetired(deps.store, deps.store.readAll(after), passed)) {
    for (const item of items) {
      const event = 'retired' in item ? leafOf(item.retired) : item.event;
      seen += 1;
      if (seen <= skipped) continue;
      open.push(audited.has(event.type) ? event : { ...event, data: '', metadata: '', sealed: undefined });
      if (open.length > 2 * SEGMENT_EVENTS_MAX) throw new SealMissed('the ledger has no seal over far more events than one covers');
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
        throw new SealMissed(`the events up to position ${position} are not those that their seal covers; run sealpost verify`);
      previous = { position, count, root };
      yield { seal: previous, events: covered };
      open = open.slice(count);
      if (root === last.root) return;
    }
  }
}

const STREAMS_MAX = 10_000;

/** What shows an event to be what the log has; the hash before it is that of its predecessor, which is read once for each stream. */
const evidence = ({ store }: AuditExportDeps): ((stored: StoredEvent) => Promise<ExportedEvent>) => {
  const newest = new Map<string, Readonly<{ revision: number; hash: string }>>();
  const previousOf = async (stream: string, revision: number): Promise<string> => {
    if (revision === 0) return chainStart(stream);
    const known = newest.get(stream);
    if (known?.revision === revision - 1) return known.hash;
    const [before] = await store.readStream(stream, revision - 1);
    if (before === undefined) throw new Error(`revision ${revision - 1} of ${stream} is missing`);
    return before.hash;
  };
  return async ({ stream, revision, type, data, metadata, sealed, hash }) => {
    const previous = await previousOf(stream, revision);
    if (newest.size >= STREAMS_MAX) newest.clear();
    newest.set(stream, { revision, hash });
    return { stream, revision, type, previous, sealed: sealedHashOf(sealed), data, metadata };
  };
};
