/**
 * Breaks the time of a program down by part and by function: the samples of a V8 profile, with the lines of the
 * sources.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from './scratch.js';

type ProfileNode = Readonly<{
  id: number;
  callFrame: Readonly<{ functionName: string; url: string; lineNumber: number; columnNumber: number }>;
  children?: readonly number[];
}>;
type Profile = Readonly<{
  nodes: readonly ProfileNode[];
  startTime: number;
  samples: readonly number[];
  timeDeltas: readonly number[];
}>;

/**
 * The first rule whose pattern is in the address of a frame gives the part of all that it calls, unless that has a part
 * of its own.
 */
export type PartRule = Readonly<{ part: string; pattern: RegExp }>;

export type Share = Readonly<{ what: string; share: number }>;
export type ProfileReport = Readonly<{ parts: readonly Share[]; functions: readonly Share[]; samples: number }>;

/**
 * Options of node that write a profile into that directory when the program ends. Sampling more often than each
 * millisecond doubles the CPU.
 */
export const profileOptions = (directory: string): readonly string[] => [
  '--cpu-prof',
  '--cpu-prof-interval=1000',
  `--cpu-prof-dir=${directory}`,
];

/** Microseconds of the clock that profiles are stamped with, the same in every process. */
export const profileClockUs = (): number => Number(process.hrtime.bigint() / 1_000n);

/**
 * In: the directory, the moments between which samples count, and the parts. Out: shares of the time that was not idle,
 * largest first.
 */
export const readProfile = (
  directory: string,
  window: Readonly<{ fromUs: number; toUs: number }>,
  rules: readonly PartRule[],
): ProfileReport => {
  const name = readdirSync(directory).find((file) => file.endsWith('.cpuprofile'));
  if (name === undefined) throw new Error('the program left no profile');
  const { nodes, startTime, samples, timeDeltas } = JSON.parse(readFileSync(join(directory, name), 'utf8')) as Profile;
  const partOf = partsOf(nodes, rules);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parts = new Map<string, number>();
  const functions = new Map<string, number>();
  let at = startTime;
  let total = 0;
  let counted = 0;
  samples.forEach((id, index) => {
    // A delta is the time before its sample, so it belongs to the sample before; that far off, it is all the same.
    const deltaUs = timeDeltas[index] ?? 0;
    at += deltaUs;
    const node = byId.get(id);
    if (node === undefined || at < window.fromUs || at > window.toUs || node.callFrame.functionName === '(idle)')
      return;
    total += deltaUs;
    counted += 1;
    add(parts, partOf.get(id) ?? 'node', deltaUs);
    add(functions, placeOf(node), deltaUs);
  });
  if (counted === 0) throw new Error('the profile has no sample of the time that was measured');
  return { parts: shares(parts, total), functions: shares(functions, total), samples: counted };
};

const add = (sums: Map<string, number>, key: string, value: number): void =>
  void sums.set(key, (sums.get(key) ?? 0) + value);

const shares = (sums: ReadonlyMap<string, number>, total: number): readonly Share[] =>
  [...sums].map(([what, sum]) => ({ what, share: sum / total })).sort((a, b) => b.share - a.share);

const partsOf = (nodes: readonly ProfileNode[], rules: readonly PartRule[]): ReadonlyMap<number, string> => {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const found = new Map<number, string>();
  const root = nodes[0];
  const open: { id: number; part: string | undefined }[] = root === undefined ? [] : [{ id: root.id, part: undefined }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const node = byId.get(next.id)!;
    const { url, functionName } = node.callFrame;
    const own =
      functionName === '(garbage collector)'
        ? 'garbage collection'
        : rules.find(({ pattern }) => pattern.test(url))?.part;
    const part = own ?? next.part;
    if (part !== undefined) found.set(node.id, part);
    for (const id of node.children ?? []) open.push({ id, part });
  }
  return found;
};

const maps = new Map<string, SourceMap | undefined>();

const mapOf = (file: string): SourceMap | undefined => {
  if (!maps.has(file)) {
    const map = `${file}.map`;
    maps.set(
      file,
      existsSync(map)
        ? new SourceMap(JSON.parse(readFileSync(map, 'utf8')) as ConstructorParameters<typeof SourceMap>[0])
        : undefined,
    );
  }
  return maps.get(file);
};

const builtAt = fileURLToPath(new URL('../../', import.meta.url));

/** The name of a function and where it stands: in the source where there is a map to it. */
const placeOf = ({ callFrame: { functionName, url, lineNumber, columnNumber } }: ProfileNode): string => {
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (!url.startsWith('file:')) return url === '' ? name : `${name} ${url}:${lineNumber + 1}`;
  const file = fileURLToPath(url);
  const entry = mapOf(file)?.findEntry(lineNumber, columnNumber);
  const line = entry !== undefined && 'originalLine' in entry ? entry.originalLine : lineNumber;
  const inProject =
    file.startsWith(builtAt) && entry !== undefined
      ? file.slice(builtAt.length).replace(/\.js$/, '.ts')
      : relative(projectRoot, file);
  return `${name} ${inProject}:${line + 1}`;
};
