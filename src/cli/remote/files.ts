/**
 * Templates as files of a folder: `emails/<slug>.json`, `attachments/<slug>.json`, `blocks/<slug>.json`. A file holds
 * what an author writes and nothing that changes by itself. `.sealpost` beside them, which stays out of git, keeps what
 * each service had when the files were last equal to it.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import {
  contentOf,
  isEqual,
  kindOfTemplate,
  wholeOf,
  type Content,
  type Kind,
} from '../../domain/templates/authored.js';
import { reasonOf, replaceDurably } from '../../shared/files.js';
import { CliFault } from './output.js';

/** `name`: its path in the folder, such as `emails/welcome.json`. */
export type TemplateFile = Readonly<{ kind: Kind; slug: string; name: string; content: Content }>;

export const folders: Readonly<Record<Kind, string>> = { email: 'emails', attachment: 'attachments', block: 'blocks' };

const schemaFiles: Readonly<Record<Kind, string>> = {
  email: 'email-template.json',
  attachment: 'attachment-template.json',
  block: 'block-template.json',
};

const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const SLUG_CHARS_MAX = 200;
const FILE_BYTES_MAX = 8 * 1024 * 1024;
const FILES_MAX = 10_000;

/** Fields of a record that its author does not write; a file that was copied from an answer of the API has them. */
const RECORD_FIELDS: ReadonlySet<string> = new Set([
  ...['id', 'shortId', 'type', 'status', 'version', 'publishedVersion', 'publishedAt', 'publish', 'current'],
  ...['revision', 'createdAt', 'updatedAt', 'updatedBy', 'deletedAt', 'outputFormats', 'outputs', 'isLayout'],
  'warnings',
]);

export const isSlug = (text: string): boolean => text.length <= SLUG_CHARS_MAX && SLUG.test(text);

/** The path of a template in the folder. Throws FILE_INVALID for a slug that could lead out of it. */
export const nameOf = (kind: Kind, slug: string): string => {
  if (!isSlug(slug)) throw new CliFault('FILE_INVALID', `the slug ${JSON.stringify(slug)} is no name of a file`);
  return `${folders[kind]}/${slug}.json`;
};

/**
 * In: a folder, and the name of a file in it, there or not. Out: its path. Throws FILE_INVALID for a symbolic link that
 * leads out of the folder: a repository of somebody else must not choose which files are read and written.
 */
const pathIn = (directory: string, name: string): string => {
  const root = existsSync(directory) ? realpathSync(directory) : undefined;
  let path = directory;
  for (const part of name.split('/')) {
    path = join(path, part);
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) continue;
    const target = existsSync(path) ? realpathSync(path) : undefined;
    if (root === undefined || target === undefined || !target.startsWith(root + sep))
      throw new CliFault('FILE_INVALID', `${path} is a symbolic link that leads out of ${directory}`);
  }
  return path;
};

/** In: the path of a JSON file. Out: what it holds. Throws FILE_INVALID. */
export const readJsonFile = (file: string): Content => {
  let parsed: unknown;
  try {
    if (statSync(file).size > FILE_BYTES_MAX) throw new CliFault('FILE_INVALID', `${file} is too large`);
    parsed = JSON.parse(readFileSync(file, 'utf8').replace(/^\ufeff/, ''));
  } catch (fault) {
    if (fault instanceof CliFault) throw fault;
    throw new CliFault(
      'FILE_INVALID',
      fault instanceof SyntaxError ? `${file} is no JSON: ${fault.message}` : `${file}: ${reasonOf(fault)}`,
    );
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new CliFault('FILE_INVALID', `${file} holds no JSON object`);
  return parsed as Content;
};

const authoredOf = (content: Content): Content =>
  Object.fromEntries(Object.entries(content).filter(([name]) => !RECORD_FIELDS.has(name)));

/** In: the path of a template. Out: it, with the slug of its file where it names none. Throws FILE_INVALID. */
export const readTemplateFile = (file: string, known?: Kind): TemplateFile => {
  const read = readJsonFile(file);
  const folder = basename(dirname(file));
  const kind =
    known ?? (Object.keys(folders) as readonly Kind[]).find((one) => folders[one] === folder) ?? kindOfTemplate(read);
  const ofFile = basename(file, '.json');
  const { slug = ofFile } = read;
  if (typeof slug !== 'string' || !isSlug(slug))
    throw new CliFault('FILE_INVALID', `${file}: \`slug\` must have small letters, digits and hyphens between them`);
  if (known !== undefined && slug !== ofFile)
    throw new CliFault('FILE_INVALID', `${file} has the slug ${slug}: name the file ${slug}.json`);
  return { kind, slug, name: `${folders[kind]}/${slug}.json`, content: { slug, ...authoredOf(read) } };
};

/** Whether a template is one of those that `--only` names; without it every one is. */
export const isWanted = (only: readonly string[] | undefined, kind: Kind, slug: string): boolean =>
  only === undefined || only.some((one) => one === slug || one === `${folders[kind]}/${slug}`);

/** The templates of a folder, in the order of their names. Throws FILE_INVALID. */
export const readFolder = (directory: string, only?: readonly string[]): readonly TemplateFile[] => {
  const found = (Object.keys(folders) as readonly Kind[]).flatMap((kind) => {
    const folder = pathIn(directory, folders[kind]);
    if (!existsSync(folder)) return [];
    if (!statSync(folder).isDirectory()) throw new CliFault('FILE_INVALID', `${folder} is no folder`);
    return readdirSync(folder)
      .filter((name) => name.endsWith('.json') && !name.startsWith('.'))
      .sort()
      .filter((name) => isWanted(only, kind, basename(name, '.json')))
      .map((name) => [kind, pathIn(directory, `${folders[kind]}/${name}`)] as const);
  });
  if (found.length > FILES_MAX) throw new CliFault('FILE_INVALID', `${directory} has more than ${FILES_MAX} templates`);
  return found.map(([kind, file]) => readTemplateFile(file, kind));
};

/**
 * In: a value as it stands in a file, and its successor. Out: the successor with the members of objects in the order of
 * the file, so that a change in git shows what changed and nothing else. Components are found again by their ids.
 */
const inOrderOf = (former: unknown, value: unknown): unknown => {
  if (Array.isArray(value)) {
    const before: readonly unknown[] = Array.isArray(former) ? former : [];
    const byId = new Map(before.flatMap((one) => (idOf(one) === undefined ? [] : [[idOf(one), one] as const])));
    return value.map((one: unknown, place) => inOrderOf(byId.get(idOf(one)) ?? before[place], one));
  }
  if (typeof value !== 'object' || value === null) return value;
  const own = value as Content;
  const before = typeof former === 'object' && former !== null && !Array.isArray(former) ? (former as Content) : {};
  const names = new Set([...Object.keys(before).filter((name) => Object.hasOwn(own, name)), ...Object.keys(own)]);
  return Object.fromEntries([...names].map((name) => [name, inOrderOf(before[name], own[name])]));
};

const idOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? ((value as Content)['id'] ?? (value as Content)['name'] ?? (value as Content)['pageId'])
    : undefined;

/** Writes a template as a file; one that is there keeps its `$schema` and the order of its members. */
export const writeTemplateFile = (
  directory: string,
  { kind, slug, content }: Pick<TemplateFile, 'kind' | 'slug' | 'content'>,
  former: Content | undefined,
): void => {
  const file = pathIn(directory, nameOf(kind, slug));
  mkdirSync(dirname(file), { recursive: true });
  const schema = { $schema: `../schemas/${schemaFiles[kind]}` };
  const text = `${JSON.stringify(inOrderOf(former, { ...schema, ...(former === undefined ? {} : pick(former, '$schema')), ...content }), undefined, 2)}\n`;
  replaceFile(file, text);
};

/** Writes the whole file or, where the program is ended meanwhile, nothing of it. */
const replaceFile = (file: string, text: string): void => {
  const place = existsSync(file) ? realpathSync(file) : file;
  const partial = `${place}.partial`;
  // A symbolic link of that name is not followed.
  rmSync(partial, { force: true });
  writeFileSync(partial, text, { flag: 'wx' });
  renameSync(partial, place);
};

/** Removes the file of a template that has another name by now. */
export const removeTemplateFile = (directory: string, name: string): void => rmSync(pathIn(directory, name));

const pick = (content: Content, name: string): Content =>
  content[name] === undefined ? {} : { [name]: content[name] };

/** Writes the JSON schemas that the files name, for editors, where they are missing or of another version. */
export const writeSchemas = async (directory: string, kinds: Iterable<Kind>): Promise<void> => {
  const { templateJsonSchema } = await import('../../api/templates/json-schema.js');
  for (const kind of new Set(kinds)) {
    const file = pathIn(directory, `schemas/${schemaFiles[kind]}`);
    const text = `${JSON.stringify(templateJsonSchema(kind), undefined, 2)}\n`;
    if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
};

/**
 * In: a file, and what the service has. Out: the content of the file with the ids that the service gave to variables
 * without one.
 */
export const alignedTo = (stored: Content, content: Content): Content => {
  const { variables } = content;
  if (!Array.isArray(variables)) return content;
  const known = new Map(
    (Array.isArray(stored['variables']) ? (stored['variables'] as readonly Content[]) : []).map((one) => [
      one['name'],
      one['id'],
    ]),
  );
  const aligned = (variables as readonly unknown[]).map((one) => {
    if (typeof one !== 'object' || one === null || 'id' in one) return one;
    const id = known.get((one as Content)['name']);
    return id === undefined ? one : { id, ...one };
  });
  return { ...content, variables: aligned };
};

/** Whether two contents say the same, whatever the order of their members. */
export const isSameContent = (kind: Kind, one: Content, other: Content): boolean =>
  isEqual(wholeOf(kind, one), wholeOf(kind, alignedTo(one, other)));

const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .sort(([one], [other]) => (one < other ? -1 : 1))
            .map(([name, member]: [string, unknown]) => [name, sorted(member)]),
        )
      : value;

/** Fingerprint of what the service has. */
export const fingerprintOf = (kind: Kind, stored: Content): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(wholeOf(kind, contentOf(kind, stored)))))
    .digest('base64url');

/** The state that a template had on the service when its file was last equal to it. */
export type Known = Readonly<{ id: string; updatedAt: string; fingerprint: string }>;

export type Memory = Readonly<{
  known: (name: string) => Known | undefined;
  note: (name: string, known: Known) => void;
  forget: (name: string) => void;
  save: () => void;
}>;

type Kept = Record<string, Record<string, Known>>;

/** The memory of a folder about one service. What cannot be read of it counts as nothing. */
export const openMemory = (directory: string, service: string): Memory => {
  const file = pathIn(directory, '.sealpost/state.json');
  const kept = keptIn(file);
  const own = (kept[service] ??= {});
  return {
    known: (name) => (Object.hasOwn(own, name) ? own[name] : undefined),
    note: (name, known) => {
      own[name] = known;
    },
    forget: (name) => {
      delete own[name];
    },
    save: () => {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(pathIn(directory, '.sealpost/.gitignore'), '*\n');
      replaceDurably(file, `${JSON.stringify(kept, undefined, 2)}\n`);
    },
  };
};

const isKnown = (value: unknown): value is Known =>
  typeof value === 'object' &&
  value !== null &&
  ['id', 'updatedAt', 'fingerprint'].every((name) => typeof (value as Content)[name] === 'string');

const keptIn = (file: string): Kept => {
  if (!existsSync(file)) return {};
  try {
    const kept = readJsonFile(file);
    const isKept = Object.values(kept).every(
      (one) => typeof one === 'object' && one !== null && Object.values(one).every(isKnown),
    );
    return isKept ? (kept as Kept) : {};
  } catch {
    return {};
  }
};
