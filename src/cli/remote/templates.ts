/** `sealpost templates …`: templates of a service elsewhere, and their files in git. */
import { join } from 'node:path';
import { SealpostError, type Client } from '../../../packages/sdk/src/index.js';
import { bodyOfChange, contentOf, kinds, wholeOf, type Content, type Kind } from '../../domain/templates/authored.js';
import { differencesOf, type Difference } from '../../domain/templates/difference.js';
import { referencesIn } from '../../domain/rendering/blocks.js';
import { print, printFault } from '../core/output.js';
import { connect } from './connection.js';
import {
  alignedTo,
  fingerprintOf,
  folders,
  isSameContent,
  isWanted,
  nameOf,
  openMemory,
  readFolder,
  readJsonFile,
  removeTemplateFile,
  writeSchemas,
  writeTemplateFile,
  type Known,
  type Memory,
  type TemplateFile,
} from './files.js';
import {
  CliFault,
  paintOf,
  printJson,
  safe,
  shortened,
  tableOf,
  terminalColumns,
  type Paint,
  type RemoteOptions,
} from './output.js';

type Stored = Content &
  Readonly<{
    id: string;
    slug: string;
    name: string;
    status: 'draft' | 'published';
    version: number;
    publishedVersion: number | null;
    revision: number;
    updatedAt: string;
    warnings?: readonly Readonly<{ field: string; message: string }>[];
  }>;

type Item = Readonly<{
  id: string;
  slug: string;
  name: string;
  status: 'draft' | 'published';
  publishedVersion: number | null;
  updatedAt: string;
}>;

/** The operations of one kind. The kinds differ in their bodies, which the service checks. */
type Calls = Readonly<{
  list: (filters: Readonly<{ limit: number }>) => AsyncIterable<Item>;
  get: (id: string) => Promise<Stored>;
  create: (body: never) => Promise<Stored>;
  update: (id: string, body: never, options: Readonly<{ ifMatch: number }>) => Promise<Stored>;
  publish: (id: string, options: Readonly<{ ifMatch: number }>) => Promise<Stored>;
}>;

const PAGE = { limit: 100 };

/** `isForced`: a block is published also where that breaks a template. */
export const callsOf = ({ templates, attachmentTemplates, blocks }: Client, kind: Kind, isForced = false): Calls => {
  switch (kind) {
    case 'email':
      return templates as Calls;
    case 'attachment':
      return attachmentTemplates as Calls;
    case 'block': {
      const body = isForced ? { force: true } : {};
      return { ...blocks, publish: (id, options) => blocks.publish(id, body, options) } as Calls;
    }
  }
};

const SAME_TIME = 6;

/** Does the work for each item, a few at a time, and keeps their order. After a fault no further item is begun. */
const forEach = async <Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> => {
  const results: Result[] = [];
  const faults: unknown[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < items.length && faults.length === 0; at = next++)
      try {
        results[at] = await work(items[at]!);
      } catch (fault) {
        faults.push(fault);
      }
  };
  await Promise.all(Array.from({ length: Math.min(SAME_TIME, items.length) }, lane));
  if (faults.length > 0) throw faults[0];
  return results;
};

type Listed = Readonly<{ kind: Kind; item: Item }>;

const listedOn = async (client: Client, only?: readonly string[]): Promise<readonly Listed[]> => {
  const lists = await Promise.all(
    kinds.map(async (kind) => {
      const found: Listed[] = [];
      for await (const item of callsOf(client, kind).list(PAGE))
        if (isWanted(only, kind, item.slug)) found.push({ kind, item });
      return found.sort((one, other) => (one.item.slug < other.item.slug ? -1 : 1));
    }),
  );
  return lists.flat();
};

const assertFound = (only: readonly string[] | undefined, found: readonly Readonly<{ kind: Kind; slug: string }>[]) => {
  for (const one of only ?? [])
    if (!found.some(({ kind, slug }) => isWanted([one], kind, slug)))
      throw new CliFault('NOT_FOUND', `--only ${one}: there is no such template, neither in the files nor there`);
};

const stateOf = ({ status, publishedVersion }: Item): string =>
  status === 'published' ? 'published' : publishedVersion === null ? 'draft' : 'changed';

export const listTemplates = async (options: RemoteOptions): Promise<void> => {
  const { client } = connect(options);
  const found = await listedOn(client);
  if (options.json === true) return printJson(found.map(({ kind, item }) => ({ kind, state: stateOf(item), ...item })));
  if (found.length === 0) return print('There is no template.');
  const slugColumns = Math.max(...found.map(({ item }) => item.slug.length));
  // The other columns and the spaces between them take 31.
  const nameColumns = Math.max(terminalColumns() - 31 - slugColumns, 10);
  const rows = found.map(({ kind, item }) => [
    kind,
    safe(item.slug),
    stateOf(item),
    item.publishedVersion === null ? '' : `v${item.publishedVersion}`,
    shortened(safe(item.name), nameColumns),
  ]);
  for (const line of tableOf([['KIND', 'SLUG', 'STATE', 'LIVE', 'NAME'], ...rows])) print(line);
};

export type FolderOptions = RemoteOptions & Readonly<{ only?: readonly string[]; force?: boolean }>;

const knownOf = (kind: Kind, stored: Stored): Known => ({
  id: stored.id,
  updatedAt: stored.updatedAt,
  fingerprint: fingerprintOf(kind, stored),
});

/** Whether neither the file nor the template was changed since they were equal: then nothing is read. */
const isAsKnown = (known: Known | undefined, { id, updatedAt }: Item, { kind, content }: TemplateFile): boolean =>
  known?.id === id && known.updatedAt === updatedAt && known.fingerprint === fingerprintOf(kind, content);

type Renamed = Readonly<{ file: TemplateFile; to: string }>;

/** Files whose template has another slug on the service by now. */
const renamedOf = (files: readonly TemplateFile[], listed: readonly Listed[], memory: Memory): readonly Renamed[] =>
  files.flatMap((file) => {
    const known = memory.known(file.name);
    const found = listed.find(({ kind, item }) => kind === file.kind && item.id === known?.id);
    return found === undefined || found.item.slug === file.slug
      ? []
      : [{ file, to: nameOf(found.kind, found.item.slug) }];
  });

/**
 * Keeps what is known of each file also where the work fails, or Ctrl-C ends it between two files: the next run goes on
 * from there.
 */
const remembering = async <Result>(memory: Memory, work: () => Promise<Result>): Promise<Result> => {
  const stop = (): void => {
    memory.save();
    process.exit(INTERRUPTED);
  };
  process.once('SIGINT', stop);
  try {
    return await work();
  } finally {
    process.off('SIGINT', stop);
    memory.save();
  }
};

/** The exit code of a program that Ctrl-C ended. */
const INTERRUPTED = 130;

/** Writes the templates of the service into files. A file that was edited here and there is not replaced. */
export const pull = async (directory: string, options: FolderOptions): Promise<void> => {
  const { client, url } = connect(options);
  const [listed, files] = [await listedOn(client, options.only), readFolder(directory, options.only)];
  assertFound(options.only, [...listed.map(({ kind, item }) => ({ kind, slug: item.slug })), ...files]);
  const memory = openMemory(directory, url);
  const results = await remembering(memory, () =>
    forEach(listed, async ({ kind, item }) => {
      const name = nameOf(kind, item.slug);
      const file = files.find((one) => one.name === name);
      if (file !== undefined && isAsKnown(memory.known(name), item, file))
        return { name, kind, state: 'unchanged' as const };
      const stored = await callsOf(client, kind).get(item.id);
      const content = contentOf(kind, stored);
      if (file !== undefined && isSameContent(kind, content, file.content)) {
        memory.note(name, knownOf(kind, stored));
        return { name, kind, state: 'unchanged' as const };
      }
      // The file is as it was pulled or pushed last: nobody edited it here.
      const isUnedited =
        file !== undefined && memory.known(name)?.fingerprint === fingerprintOf(kind, alignedTo(content, file.content));
      if (file !== undefined && !isUnedited && options.force !== true) return { name, kind, state: 'kept' as const };
      const former = file === undefined ? undefined : readJsonFile(join(directory, name));
      writeTemplateFile(directory, { kind, slug: item.slug, content }, former);
      memory.note(name, knownOf(kind, stored));
      return { name, kind, state: file === undefined ? ('new' as const) : ('updated' as const) };
    }),
  );
  const renamed = renamedOf(files, listed, memory).filter(({ file }) => {
    const isUnedited = memory.known(file.name)?.fingerprint === fingerprintOf(file.kind, file.content);
    if (isUnedited) {
      removeTemplateFile(directory, file.name);
      memory.forget(file.name);
    }
    return isUnedited;
  });
  await writeSchemas(
    directory,
    results.map(({ kind }) => kind),
  );
  memory.save();
  const there = new Set([...results, ...renamed.map(({ file }) => file)].map(({ name }) => name));
  const onlyHere = files.filter(({ name }) => !there.has(name)).map(({ name }) => name);
  const kept = results.filter(({ state }) => state === 'kept');
  if (kept.length > 0) process.exitCode = 1;
  if (options.json === true)
    return printJson({
      templates: results.map(({ name, state }) => ({ file: name, state })),
      renamed: renamed.map(({ file, to }) => ({ from: file.name, to })),
      onlyHere,
    });
  for (const { name, state } of results)
    if (state === 'new' || state === 'updated') print(`${state.padEnd(8)} ${name}`);
  for (const { file, to } of renamed) print(`renamed  ${file.name} → ${to}`);
  for (const name of onlyHere) print(`${name} is not on the service; it stays`);
  for (const { name } of kept)
    printFault(
      `${name} was edited here and differs on the service; it stays (\`templates diff\` shows how, --force replaces it)`,
    );
  const unchanged = results.filter(({ state }) => state === 'unchanged').length;
  print(`${results.length - unchanged - kept.length} written, ${unchanged} unchanged`);
};

type Standing = Readonly<{ kind: Kind; slug: string; name: string }> &
  (
    | Readonly<{ state: 'equal'; file: TemplateFile; item: Item }>
    | Readonly<{
        state: 'different';
        file: TemplateFile;
        stored: Stored;
        differences: readonly Difference[];
        body: Content;
        isChangedThere: boolean;
      }>
    | Readonly<{ state: 'new'; file: TemplateFile; renamedTo?: string }>
    | Readonly<{ state: 'only-there' }>
  );

/** Compares the files with the service: what a push would change. */
const standingsOf = async (
  client: Client,
  directory: string,
  memory: Memory,
  only: readonly string[] | undefined,
): Promise<readonly Standing[]> => {
  const files = readFolder(directory, only);
  const listed = await listedOn(client, only);
  assertFound(only, [...files, ...listed.map(({ kind, item }) => ({ kind, slug: item.slug }))]);
  if (files.length === 0 && only === undefined)
    throw new CliFault(
      'FILE_INVALID',
      `${directory} has no emails, attachments or blocks; \`templates pull\` writes them`,
    );
  const there = new Map(listed.map(({ kind, item }) => [`${kind} ${item.slug}`, item] as const));
  const renamed = renamedOf(files, listed, memory);
  const compared = await forEach(files, async (file): Promise<Standing> => {
    const { kind, slug, name } = file;
    const item = there.get(`${kind} ${slug}`);
    if (item === undefined) {
      const renamedTo = renamed.find(({ file: one }) => one === file)?.to;
      return { kind, slug, name, state: 'new', file, ...(renamedTo === undefined ? {} : { renamedTo }) };
    }
    const known = memory.known(name);
    if (isAsKnown(known, item, file)) return { kind, slug, name, state: 'equal', file, item };
    const stored = await callsOf(client, kind).get(item.id);
    const content = alignedTo(stored, file.content);
    const body = bodyOfChange(kind, content, stored);
    if (body === undefined) {
      memory.note(name, knownOf(kind, stored));
      return { kind, slug, name, state: 'equal', file, item };
    }
    return {
      ...{ kind, slug, name, state: 'different', file, stored, body },
      differences: differencesOf(wholeOf(kind, contentOf(kind, stored)), wholeOf(kind, content)),
      isChangedThere: known !== undefined && known.fingerprint !== fingerprintOf(kind, stored),
    };
  });
  const here = new Set(files.map(({ kind, slug }) => `${kind} ${slug}`));
  return [
    ...compared,
    ...listed.flatMap(({ kind, item: { slug } }): readonly Standing[] =>
      here.has(`${kind} ${slug}`)
        ? []
        : [{ kind, slug, name: `${folders[kind]}/${safe(slug)}.json`, state: 'only-there' }],
    ),
  ];
};

const VALUE_CHARS_MAX = 80;
const LINES_MAX = 200;

const valueOf = (value: unknown): string =>
  shortened(safe(typeof value === 'string' ? `“${value}”` : JSON.stringify(value)), VALUE_CHARS_MAX);

/** In: two texts. Out: the parts that are other, with a little of what is around them. */
const partsOf = (before: string, after: string): readonly [string, string] => {
  if (before.length + after.length <= VALUE_CHARS_MAX) return [before, after];
  let start = 0;
  while (start < before.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const from = Math.max(0, start - 15);
  const part = (text: string): string => {
    const until = Math.min(text.length, text.length - end + 15);
    return `${from === 0 ? '' : '…'}${text.slice(from, until)}${until === text.length ? '' : '…'}`;
  };
  return [part(before), part(after)];
};

const lineOf = ({ what, where, field, before, after }: Difference, paint: Paint): string => {
  const [was, is] =
    typeof before === 'string' && typeof after === 'string' ? partsOf(before, after) : ([before, after] as const);
  const values =
    was === undefined && is === undefined
      ? ''
      : was === undefined
        ? `: ${paint('green', valueOf(is))}`
        : is === undefined
          ? `: ${paint('red', valueOf(was))}`
          : `: ${paint('red', valueOf(was))} → ${paint('green', valueOf(is))}`;
  return `  ${what.padEnd(7)} ${safe(where)}${field === undefined ? '' : ` ${safe(field)}`}${values}`;
};

const printDifferences = (differences: readonly Difference[], paint: Paint): void => {
  for (const one of differences.slice(0, LINES_MAX)) print(lineOf(one, paint));
  if (differences.length > LINES_MAX) print(`  and ${differences.length - LINES_MAX} more`);
};

/** A standing as `--json` shows it. */
const shown = (standing: Standing): Content => ({
  file: standing.name,
  kind: standing.kind,
  slug: standing.slug,
  state: standing.state,
  ...(standing.state === 'new' && standing.renamedTo !== undefined ? { renamedTo: standing.renamedTo } : {}),
  ...(standing.state === 'different'
    ? { changedThere: standing.isChangedThere, differences: standing.differences }
    : {}),
});

/** Shows what a push would change. Ends with 2 where something is other. */
export const diff = async (directory: string, options: FolderOptions): Promise<void> => {
  const { client, url, hasColor } = connect(options);
  const memory = openMemory(directory, url);
  const standings = await standingsOf(client, directory, memory, options.only);
  memory.save();
  const others = standings.filter(({ state }) => state !== 'equal');
  if (others.length > 0) process.exitCode = 2;
  if (options.json === true) return printJson({ equal: others.length === 0, templates: standings.map(shown) });
  printStandings(standings, paintOf(hasColor));
  print(`${others.length} of ${standings.length} ${others.length === 1 ? 'differs' : 'differ'}`);
};

const printStandings = (standings: readonly Standing[], paint: Paint): void => {
  for (const standing of standings)
    switch (standing.state) {
      case 'equal':
        break;
      case 'new':
        print(
          standing.renamedTo === undefined
            ? `${paint('bold', standing.name)} is not on the service: a push creates it`
            : `${paint('bold', standing.name)} has become ${standing.renamedTo} on the service: a pull renames it`,
        );
        break;
      case 'only-there':
        print(`${paint('bold', standing.name)} is only on the service: a push leaves it`);
        break;
      case 'different':
        print(
          `${paint('bold', standing.name)}${standing.isChangedThere ? paint('yellow', ' (changed on the service since it was last equal)') : ''}`,
        );
        printDifferences(standing.differences, paint);
        break;
    }
};

/** Blocks stand before those that include them; then documents, then mails. */
const ordered = (standings: readonly Standing[]): readonly Standing[] => {
  const blocks = new Map(standings.flatMap((one) => (one.kind === 'block' ? [[one.slug, one] as const] : [])));
  const placed = new Set<Standing>();
  const place = (standing: Standing, above: readonly string[]): void => {
    if (placed.has(standing)) return;
    if (standing.state !== 'only-there')
      for (const { slug } of referencesIn(standing.file.content['schema'])) {
        const block = blocks.get(slug);
        // The service refuses a circle; here it must not go round.
        if (block !== undefined && !above.includes(slug)) place(block, [...above, slug]);
      }
    placed.add(standing);
  };
  for (const kind of ['block', 'attachment', 'email'] as const)
    for (const one of standings) if (one.kind === kind) place(one, [one.slug]);
  return [...placed];
};

export type PushOptions = FolderOptions & Readonly<{ dryRun?: boolean; publish?: boolean }>;

type Pushed = Readonly<{
  file: string;
  state: 'created' | 'updated' | 'published' | 'equal' | 'failed';
  published?: number | null;
  warnings?: Stored['warnings'];
  error?: Readonly<{ code: string; message: string; errors?: readonly Readonly<{ field: string; message: string }>[] }>;
}>;

/** Makes the service have what the files say. Nothing is deleted, and no change that was made there is overwritten. */
export const push = async (directory: string, options: PushOptions): Promise<void> => {
  const { client, url, hasColor } = connect(options);
  const { publish: isPublished = false, force: isForced = false, json: isJson = false } = options;
  const paint = paintOf(hasColor);
  const memory = openMemory(directory, url);
  const standings = ordered(await standingsOf(client, directory, memory, options.only));
  const drafts = standings.filter((one) => isPublished && one.state === 'equal' && one.item.status !== 'published');
  if (options.dryRun === true) {
    if (isJson)
      return printJson({ dryRun: true, templates: standings.map(shown), publishes: drafts.map(({ name }) => name) });
    printStandings(standings, paint);
    for (const { name } of drafts) print(`${paint('bold', name)} is equal, and its draft is published`);
    const count = standings.filter(({ state }) => state === 'new' || state === 'different').length;
    return print(`${count === 0 ? 'nothing would be changed' : `${count} would be changed`}; this was a dry run`);
  }
  const changedThere = standings.filter(
    (one) => (one.state === 'different' && one.isChangedThere) || (one.state === 'new' && one.renamedTo !== undefined),
  );
  if (changedThere.length > 0 && !isForced) {
    if (!isJson) printStandings(changedThere, paint);
    throw new CliFault(
      'CHANGED_MEANWHILE',
      `${changedThere.map(({ name }) => name).join(', ')} changed on the service since the files were last equal to it; ` +
        'nothing was pushed. Pull it (`templates pull --force`) and edit again, or overwrite it with --force',
    );
  }
  const results: Pushed[] = [];
  const onlyThere = standings.filter(({ state }) => state === 'only-there').map(({ name }) => name);
  await remembering(memory, async () => {
    for (const standing of standings) {
      if (standing.state === 'only-there') continue;
      const result = await pushed(client, standing, { isPublished, isForced, memory });
      results.push(result);
      if (!isJson) tellPushed(result, paint);
    }
  }).catch((fault: unknown) => {
    // Some are pushed, and the rest is not: a script learns both.
    if (isJson) printJson({ templates: results, onlyThere });
    throw fault;
  });
  const failed = results.filter(({ state }) => state === 'failed').length;
  if (failed > 0) process.exitCode = 1;
  if (isJson) return printJson({ templates: results, onlyThere });
  for (const name of onlyThere) print(`${name} is only on the service; it stays`);
  const equal = results.filter(({ state }) => state === 'equal').length;
  print(`${results.length - equal - failed} pushed, ${equal} unchanged${failed === 0 ? '' : `, ${failed} failed`}`);
};

type PushDeps = Readonly<{ isPublished: boolean; isForced: boolean; memory: Memory }>;

const pushed = async (
  client: Client,
  standing: Exclude<Standing, { state: 'only-there' }>,
  { isPublished, isForced, memory }: PushDeps,
): Promise<Pushed> => {
  const { kind, name: file } = standing;
  const calls = callsOf(client, kind, isForced);
  try {
    let stored = await saved(calls, standing, isPublished);
    if (stored === undefined) return { file, state: 'equal' };
    const { warnings = [] } = stored;
    const isReleased = isPublished && stored.status !== 'published';
    if (isReleased) stored = await calls.publish(stored.id, { ifMatch: stored.revision });
    memory.note(file, knownOf(kind, stored));
    const state =
      standing.state === 'new'
        ? 'created'
        : standing.state === 'different'
          ? 'updated'
          : isReleased
            ? 'published'
            : 'equal';
    return {
      file,
      state,
      ...(isReleased ? { published: stored.publishedVersion } : {}),
      ...(state === 'equal' || warnings.length === 0 ? {} : { warnings }),
    };
  } catch (fault) {
    // A refused key or a service that is away would fail for all others too.
    if (!(fault instanceof SealpostError) || ![400, 404, 409, 412, 413, 422].includes(fault.status)) throw fault;
    const message =
      fault.code === 'REVISION_MISMATCH' ? 'somebody changed it on the service in this moment' : fault.message;
    const { code, errors } = fault;
    return { file, state: 'failed', error: { code, message, ...(errors.length === 0 ? {} : { errors }) } };
  }
};

/** Out: undefined where nothing is to be done. */
const saved = async (
  calls: Calls,
  standing: Exclude<Standing, { state: 'only-there' }>,
  isPublished: boolean,
): Promise<Stored | undefined> => {
  switch (standing.state) {
    case 'equal':
      return isPublished && standing.item.status !== 'published' ? calls.get(standing.item.id) : undefined;
    case 'new': {
      const { $schema: _, ...content } = standing.file.content;
      return calls.create(content as never);
    }
    case 'different':
      return calls.update(standing.stored.id, standing.body as never, { ifMatch: standing.stored.revision });
  }
};

const tellPushed = ({ file, state, published, warnings = [], error }: Pushed, paint: Paint): void => {
  if (state === 'equal') return;
  if (error !== undefined) {
    printFault(`${paint('red', 'failed   ')} ${file}: ${safe(error.message)} (${error.code})`);
    for (const { field, message } of (error.errors ?? []).slice(0, LINES_MAX))
      printFault(`  ${safe(`${field} ${message}`)}`);
    return;
  }
  print(`${state.padEnd(9)} ${file}${published === undefined ? '' : `, live as version ${published}`}`);
  for (const { field, message } of warnings) printFault(`  warning: ${safe(`${field} ${message}`)}`);
};
