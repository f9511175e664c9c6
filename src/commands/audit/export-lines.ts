/** The lines of an export of the audit log, as JSON or as a table; each carries the link of a chain over all lines up to it. */
import { hash as digestOf } from 'node:crypto';
import type { AuditEntryRecord, AuditFormat } from '../../api/audit.js';
import type { ProvenLeaf } from '../../event-log/merkle-proof.js';

/** The event of which an entry is made, as it stands in the log. `sealed`: the hash of its sealed part, empty where it has none. */
export type ExportedEvent = Readonly<{
  stream: string;
  revision: number;
  type: string;
  previous: string;
  sealed: string;
  data: string;
  metadata: string;
}>;

export type HeadLine = Readonly<{
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
 * One segment of the ledger, behind its entries: so many events up to that position, of which `leaves` are the entries, and `siblings` what
 * the proof needs beside them. `tree`: the root of its events where none is an entry. `root`: of the seal, which covers all seals before it.
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
export type EndLine = Readonly<{ kind: 'end'; entries: number; upTo: number }>;
export type ExportLine = HeadLine | EntryLine | SegmentLine | EndLine;

/** One line of the file taken apart: what it says, the text that its link covers, and the link. */
export type ReadLine = Readonly<{ line: ExportLine; body: string; chain: string }>;

export const CHAIN_START = digestOf('sha256', 'sealpost audit export', 'hex');

/** The link of a line, over its text and all lines before it. */
export const chainAfter = (chain: string, body: string): string => digestOf('sha256', `${chain}\n${body}`, 'hex');

export type ExportWriter = Readonly<{
  /** The text of the line, with its line break. */
  write: (line: ExportLine) => string;
  /** The link of the line written last. */
  chain: () => string;
  /** What stands before all lines. */
  head: string;
}>;

/** The columns of the table. Of lines that are no entries all but the first and the last two are empty. */
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
  const { id, at, scope, category, action, actor, target, result, code, count, detail, network, agent, requestId } = entry;
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

const entryOf = (cells: Cells): AuditEntryRecord => {
  const [, id = '', at = '', scope, category, action = '', actorType, actorId = '', targetType = '', targetId = ''] = cells;
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
export const exportWriter = async (format: AuditFormat): Promise<ExportWriter> => {
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
  typeof value === 'object' && value !== null && 'kind' in value && ['export', 'entry', 'segment', 'end'].includes(String(value.kind));

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
    return { line: proof.kind === 'entry' ? { ...proof, entry: entryOf(cells) } : proof, body, chain };
  };
  return { read, isHead: true };
};
