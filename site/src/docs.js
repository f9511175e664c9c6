/** The pages of docs/ as pages of the site: their titles, descriptions, links, pictures, and blocks of code beside each other. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';

/** The repository. The build starts in site/. */
export const root = join(process.cwd(), '..');

export const base = (process.env.GUIDE_BASE ?? '/docs/guide').replace(/\/$/, '');

/** The names of the pages: paths below docs/ without `.md`. */
export const pageNames = globSync('**/*.md', { cwd: join(root, 'docs') })
  .map((file) => file.replaceAll('\\', '/').replace(/\.md$/, ''))
  .sort();

/** The name of README.md beside the pages of docs/. */
const FRONT = '../README';

const textOf = (name) => readFileSync(join(root, 'docs', `${name}.md`), 'utf8');

export const titleOf = (name) => /^# (.+)$/m.exec(textOf(name))[1].replaceAll('`', '');

/** In: Markdown of one line. Out: what a reader sees of it. */
export const plain = (text) =>
  text
    .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*`]|<[^>]*>/g, '')
    .replace(/\s+/g, ' ')
    .trim();

/** The first sentence of the first paragraph. */
const descriptionOf = (text) => {
  const paragraph = text.split(/\n{2,}/).find((part) => /^[\p{L}`[*]/u.test(part)) ?? '';
  return /^.*?[.!?:](?=\s|$)/.exec(plain(paragraph))?.[0] ?? plain(paragraph);
};

/** Files and folders of the repository that pages link to, each with its files: these are part of the site, as text. */
const linked = new Map();

/** The id that Markdown gives a heading. */
export const slugOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** In: the path of a file or folder of the repository. Out: its address on the site. */
const addressOfFile = (path) => {
  if (!existsSync(join(root, path))) throw new Error(`${path} does not exist`);
  const isFolder = statSync(join(root, path)).isDirectory();
  const files = isFolder ? globSync('**/*.*', { cwd: join(root, path) }).map((file) => posix.join(path, file)) : [path];
  const texts = files.filter((file) => statSync(join(root, file)).isFile()).sort();
  linked.set(path, texts);
  return isFolder ? `${base}/files/#${slugOf(path)}` : `${base}/files/${path}.txt`;
};

/** The files of the repository that the pages link to, with their texts, in the order of their paths. */
export const filesOfPages = () => {
  for (const name of [FRONT, ...pageNames]) pageOf(name);
  return [...new Set([...linked.values()].flat())]
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
};

/** The page that lists these files, below a heading for each folder that a page links to. */
export const listOfFiles = () => {
  for (const name of [FRONT, ...pageNames]) pageOf(name);
  const sections = [...linked].filter(([path, files]) => files[0] !== path).sort(([a], [b]) => (a < b ? -1 : 1));
  const single = [...linked].filter(([path, files]) => files[0] === path).map(([path]) => path);
  const list = (files) => files.map((file) => `- [${file}](${base}/files/${file}.txt)`).join('\n');
  return [
    'These files of the repository are linked from the pages, and are here as text.',
    ...sections.map(([path, files]) => `## ${path}\n\n${list(files)}`),
    `## Other files\n\n${list(single.sort())}`,
  ].join('\n\n');
};

/** In: a link of the page `name`. Out: the link on the site. `toMarkdown`: pages are linked as Markdown. */
const linkOf = (name, link, toMarkdown) => {
  if (/^(?:[a-z]+:|#)/.test(link)) return link;
  const [, path, anchor = ''] = /^([^#]*)(#.*)?$/.exec(link);
  const target = posix.join('docs', posix.dirname(name), path);
  if (target === 'README.md') return `${base}/`;
  if (!target.startsWith('docs/')) return addressOfFile(target);
  const inDocs = target.slice('docs/'.length);
  // The build makes WebP of the pictures.
  if (!inDocs.endsWith('.md')) return `${base}/${inDocs.replace(/\.png$/, '.webp')}`;
  return toMarkdown ? `${base}/${inDocs}${anchor}` : `${base}/${inDocs.replace(/\.md$/, '')}/${anchor}`;
};

/** Width and height of a PNG file (its header), or of an SVG file, so that pages do not jump when it arrives. */
const sizeOf = (path) => {
  const bytes = readFileSync(join(root, path));
  if (path.endsWith('.png')) return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const [, width, height] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(bytes.toString('utf8'));
  return [Number(width), Number(height)];
};

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

/** In: the page's name, the alternative text, the link, and a width that the page gives. */
const picture = (name, alternative, link, width) => {
  const [natural, height] = sizeOf(posix.join('docs', posix.dirname(name), link));
  const shown = width === undefined ? natural : Number(width);
  return `<img src="${linkOf(name, link)}" alt="${escaped(alternative)}" width="${shown}" height="${Math.round((height * shown) / natural)}"${name === FRONT ? '' : ' loading="lazy"'} decoding="async">`;
};

/** Applies the change to the text between blocks and pieces of code only. */
const outsideCode = (text, change) =>
  text
    .split(/(^(`{3,})[^]*?^\2`*$|`[^`\n]+`)/m)
    .flatMap((part, index) => (index % 3 === 0 ? [change(part)] : index % 3 === 1 ? [part] : []))
    .join('');

let tabs = 0;

const panel = (id, label, isFirst) =>
  `<input type="radio" name="${id}" id="${id}-${label}" value="${label}"${isFirst ? ' checked' : ''}>\n<label for="${id}-${label}">${label}</label>`;

/** A block of shell commands directly followed by the same in TypeScript: the reader chooses one. */
const besideEachOther = (text) =>
  text.replace(/^(```sh\n(?:(?!^```)[^])*^```)\n+(```ts\n(?:(?!^```)[^])*^```)$/gm, (_, shell, typescript) => {
    tabs += 1;
    const first = /\bcurl\b/.test(shell) ? 'curl' : 'Shell';
    const id = `either-${tabs}`;
    const choice = `${panel(id, first, true)}\n${panel(id, 'TypeScript', false)}`;
    return `<div class="either" role="group" aria-label="Language of the example">\n${choice}\n<div>\n\n${shell}\n\n</div>\n<div>\n\n${typescript}\n\n</div>\n</div>`;
  });

/** The promises of docs/promises.md, each with the first command that shows it. */
const promises = () =>
  textOf('promises')
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const title = section.slice(0, section.indexOf('\n'));
      const [, command] = /^- (`(?:npm|npx) [^`]+`)/m.exec(section);
      return `| [${title}](docs/promises.md#${slugOf(title)}) | ${command} |`;
    });

/** The part of a text below a heading, up to the next one of the same level. */
const sectionOf = (text, heading) => {
  const [, inside] = new RegExp(`^## ${heading}\\n+([^]*?)(?=^## |(?![^]))`, 'm').exec(text);
  return inside.trim();
};

/** The first page of the site: the beginning of README.md, the first mail, and the promises. */
const frontPage = () => {
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  const [introduction] = text.replace(/^# .+\n+/, '').split(/^(?:```|!\[|- )/m);
  const [picture] = /^!\[.*$/m.exec(text);
  const [start] = /^npm ci && npm start.*$/m.exec(text);
  return [
    '# sealpost',
    introduction.trim(),
    picture,
    '## The first mail',
    'You need npm, on Linux or macOS, and a clone of the repository. Run this in the clone:',
    `\`\`\`sh\n${start}\n\`\`\``,
    sectionOf(text, 'The first mail').replace(/^1\. Run `npm ci && npm start`\. /m, '1. '),
    '## Promises',
    'A command demonstrates each promise. Commands of `npm` run in the clone, and commands of `sealpost` on your own data.',
    `| promise | shown by |\n|---|---|\n${promises().join('\n')}`,
    '## What it can do',
    sectionOf(text, 'What it can do'),
  ].join('\n\n');
};

const known = new Map();

/** The first page, with the address of the site itself. */
export const front = () => pageOf(FRONT);

/**
 * In: the name of a page of docs/. Out: its title and description, its Markdown for the site without the title, and its
 * Markdown for programs that read.
 */
export const pageOf = (name) => {
  const found = known.get(name);
  if (found !== undefined) return found;
  const text = name === FRONT ? frontPage() : textOf(name);
  const body = text.replace(/^# .+\n+/, '');
  const [, title] = /^# (.+)$/m.exec(text.replaceAll('`', ''));
  const links = (toMarkdown) => (part) =>
    part.replace(
      /(?<!!)\[([^\]]*(?:\[[^\]]*\][^\]]*)*)\]\(([^)\s]+)\)/g,
      (_, inside, link) => `[${inside}](${linkOf(name, link, toMarkdown)})`,
    );
  const pictures = (part) =>
    part.replace(
      /!\[([^\]]*)\]\(([^)\s]+)\)|<img src="([^":]+)" alt="([^"]*)"(?: width="(\d+)")?[^>]*>/g,
      (_, alternative, link, source, text, width) => picture(name, alternative ?? text, link ?? source, width),
    );
  // A text of a link may hold code, which `outsideCode` passes over: links are rewritten in all but blocks.
  const page = {
    title,
    description: descriptionOf(body),
    body: besideEachOther(outsideBlocks(outsideCode(body, pictures), links(false))),
    markdown: `# ${title}\n\n${outsideBlocks(body, (part) => links(true)(part).replace(/(!\[[^\]]*\]\()([^)\s]+)\)/g, (_, start, link) => `${start}${linkOf(name, link)})`))}`,
  };
  known.set(name, page);
  return page;
};

/** Applies the change to the text between blocks of code. */
const outsideBlocks = (text, change) =>
  text
    .split(/(^(`{3,})[^]*?^\2`*$)/m)
    .flatMap((part, index) => (index % 3 === 0 ? [change(part)] : index % 3 === 1 ? [part] : []))
    .join('');
