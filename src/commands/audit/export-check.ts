/** Checks an export of the audit log line by line: against its own proof, and so against the seals of the ledger. */
import { auditRecordOf } from './entries.js';
import { CHAIN_START, chainAfter, type EntryLine, type ExportLine, type ReadLine, type SegmentLine } from './export.js';
import { auditEntryOf } from '../../domain/events.js';
import { decodeEvent } from '../../event-log/codec.js';
import { chainHash, sealRoot, decodeMetadata } from '../../event-log/hash-chain.js';
import { rootByProof, type ProvenLeaf } from '../../event-log/ledger.js';

/** `line`: counted from 1, as editors do. */
export type ExportFinding = Readonly<{ line: number; message: string }>;

/** Summary of an export, once its end was read. */
export type CheckedExport = Readonly<{
  entries: number;
  /** The seals that its proof gives, by their position. */
  seals: ReadonlyMap<number, string>;
  /** The link of its last line. */
  root: string;
}>;

export type ExportCheck = Readonly<{
  /** In: the lines in their order; undefined for a text that is none. Out: what is wrong with it. */
  next: (line: number, read: ReadLine | undefined) => ExportFinding | undefined;
  /** Result of the check; undefined if the end is missing. */
  end: () => CheckedExport | undefined;
}>;

export const openExportCheck = (): ExportCheck => {
  let chain = CHAIN_START;
  let state: State = { stage: 'head' };
  return {
    next: (line, read) => {
      const wrong = (message: string): ExportFinding => ({ line, message });
      if (read === undefined) return wrong('is no line of an export');
      if (chainAfter(chain, read.body) !== read.chain)
        return wrong('is not what was written: it was changed, or a line before it was added, taken out or moved');
      chain = read.chain;
      const next = step(state, read.line, chain);
      if (typeof next === 'string') return wrong(next);
      state = next;
      return undefined;
    },
    end: () => (state.stage === 'end' ? state.checked : undefined),
  };
};

type State =
  | Readonly<{ stage: 'head' }>
  | Readonly<{
      stage: 'segments';
      team: string;
      previous: string;
      leaves: ProvenLeaf[];
      entries: number;
      seals: Map<number, string>;
    }>
  | Readonly<{ stage: 'end'; checked: CheckedExport }>;
type Segments = Extract<State, { stage: 'segments' }>;

/** Out: the state after the line, or what is wrong with it. */
const step = (state: State, line: ExportLine, chain: string): State | string => {
  switch (state.stage) {
    case 'head':
      if (line.kind !== 'export' || line.version !== 1)
        return 'is not the head of an export that this program can check';
      return { stage: 'segments', team: line.team, previous: line.previous, leaves: [], entries: 0, seals: new Map() };
    case 'segments':
      return inSegments(state, line, chain);
    case 'end':
      return 'stands behind the end';
  }
};

const inSegments = (state: Segments, line: ExportLine, chain: string): State | string => {
  switch (line.kind) {
    case 'export':
      return 'is a second head';
    case 'entry': {
      const fault = entryFault(state.team, line);
      if (fault !== undefined) return fault;
      state.leaves.push([line.place, hashOf(line)]);
      return { ...state, entries: state.entries + 1 };
    }
    case 'segment': {
      const fault = segmentFault(state, line);
      if (fault !== undefined) return fault;
      state.seals.set(line.position, line.root);
      return { ...state, previous: line.root, leaves: [] };
    }
    case 'end':
      if (state.leaves.length > 0) return 'is the end, and the proof of the entries before it is missing';
      if (line.entries !== state.entries)
        return `says that there are ${line.entries} entries, and there are ${state.entries}`;
      return { stage: 'end', checked: { entries: state.entries, seals: state.seals, root: chain } };
  }
};

const hashOf = ({ event: { previous, stream, revision, type, data, metadata, sealed } }: EntryLine): string =>
  chainHash(previous, stream, revision, { type, data, metadata, sealed: sealed === '' ? undefined : sealed });

/**
 * The fields of an entry must equal those of its event. The origin of the call is encrypted in the log, so only the
 * chain of the file protects it.
 */
const entryFault = (
  team: string,
  { entry, event: { stream, type, data, metadata: text } }: EntryLine,
): string | undefined => {
  try {
    const metadata = decodeMetadata(text);
    const told = auditEntryOf({ event: decodeEvent(type, data, undefined), stream, metadata });
    if (told === undefined) return 'is of an event that no audit log lists';
    const { network: _network, agent: _agent, ...expected } = auditRecordOf(team, told, undefined);
    const { network: _shownNetwork, agent: _shownAgent, ...shown } = entry;
    const different = Object.entries(expected).find(
      ([field, value]) => JSON.stringify((shown as Readonly<Record<string, unknown>>)[field]) !== JSON.stringify(value),
    );
    return different === undefined ? undefined : `shows another \`${different[0]}\` than its event has`;
  } catch {
    return 'has no event that can be read';
  }
};

const segmentFault = (state: Segments, { count, root, leaves, siblings, tree }: SegmentLine): string | undefined => {
  if (JSON.stringify(leaves) !== JSON.stringify(state.leaves)) return leafFault(leaves, state.leaves);
  const ofTree = leaves.length === 0 ? tree : rootByProof(count, leaves, siblings);
  if (ofTree === null || ofTree === undefined || sealRoot(state.previous, ofTree) !== root)
    return 'is no proof: with the entries before it, it does not give the seal that it names';
  return undefined;
};

const leafFault = (proven: readonly ProvenLeaf[], found: readonly ProvenLeaf[]): string => {
  const at = proven.findIndex(([place, hash], index) => found[index]?.[0] !== place || found[index]?.[1] !== hash);
  if (at < 0) return `proves ${proven.length} entries, and ${found.length} stand before it`;
  return `proves another entry than the ${ordinal(at + 1)} of those before it, which was changed, added, taken out or moved`;
};

const ordinal = (number: number): string => `${number}.`;
