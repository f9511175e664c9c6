/**
 * Reads PDF files of ours back: the text of each sheet as a reader would copy it, sizes, links, structure. Enough for
 * what pdfkit writes, and no more.
 */
import { inflateSync } from 'node:zlib';

export type ReadSheet = Readonly<{
  width: number;
  height: number;
  /** A line for each that was drawn, in the order of drawing. */ lines: readonly string[];
  links: readonly string[];
  content: string;
}>;
export type ReadPdf = Readonly<{
  sheets: readonly ReadSheet[];
  info: Readonly<Record<string, string>>;
  catalog: string;
  /** Types of the structure tree, indented by depth. */ structure: readonly string[];
  fonts: readonly string[];
}>;

type Stored = Readonly<{ dictionary: string; stream: Buffer | undefined }>;

export const readPdf = (bytes: Uint8Array): ReadPdf => {
  const objects = objectsOf(Buffer.from(bytes));
  const find = (reference: string | undefined): Stored => {
    const found = objects.get(Number(/^(\d+) 0 R/.exec(reference ?? '')?.[1]));
    if (found === undefined) throw new Error(`no object ${reference ?? ''}`);
    return found;
  };
  const trailer = Buffer.from(bytes).toString('latin1').split('trailer').at(-1) ?? '';
  const catalog = find(valueOf(trailer, 'Root')).dictionary;
  const fonts = new Map<string, Font>();
  const sheets = arrayOf(valueOf(find(valueOf(catalog, 'Pages')).dictionary, 'Kids')).map((page) =>
    readSheet(find(page).dictionary, find, fonts),
  );
  const infoDictionary = find(valueOf(trailer, 'Info')).dictionary;
  const info = Object.fromEntries(
    ['Title', 'Author', 'Creator', 'Producer', 'CreationDate'].map((key) => {
      const reference = valueOf(infoDictionary, key);
      return [key, reference === undefined ? '' : literal(find(reference).dictionary)];
    }),
  );
  const structure: string[] = [];
  const walk = (reference: string, depth: number): void => {
    const { dictionary } = find(reference);
    structure.push('  '.repeat(depth) + (valueOf(dictionary, 'S') ?? '').replace('/', ''));
    const children = (valueOf(dictionary, 'K') ?? '').replace(/<<[^]*?>>/g, '');
    for (const child of arrayOf(children === '' ? undefined : children))
      if (/^\d+ 0 R$/.test(child)) walk(child, depth + 1);
  };
  const root = valueOf(catalog, 'StructTreeRoot');
  if (root !== undefined) for (const child of arrayOf(valueOf(find(root).dictionary, 'K'))) walk(child, 0);
  return { sheets, info, catalog, structure, fonts: [...new Set([...fonts.values()].map(({ name }) => name))].sort() };
};

const objectsOf = (file: Buffer): ReadonlyMap<number, Stored> => {
  const text = file.toString('latin1');
  const objects = new Map<number, Stored>();
  for (const match of text.matchAll(/(?:^|\n)(\d+) 0 obj\n/g)) {
    const start = match.index + match[0].length;
    const end = text.indexOf('\nendobj', start);
    const marker = text.indexOf('\nstream\n', start);
    if (marker < 0 || marker > end) {
      objects.set(Number(match[1]), { dictionary: text.slice(start, end), stream: undefined });
      continue;
    }
    const dictionary = text.slice(start, marker);
    const length = Number(valueOf(dictionary, 'Length'));
    const raw = file.subarray(marker + 8, marker + 8 + length);
    objects.set(Number(match[1]), {
      dictionary,
      stream:
        valueOf(dictionary, 'Filter') === '/FlateDecode' && !dictionary.includes('/Image') ? inflateSync(raw) : raw,
    });
  }
  return objects;
};

/** The value of a key, whatever its kind, as it is written. */
const valueOf = (dictionary: string, key: string): string | undefined => {
  const at = new RegExp(`/${key}(?![A-Za-z])\\s*`).exec(dictionary);
  if (at === null) return undefined;
  const rest = dictionary.slice(at.index + at[0].length);
  const simple = /^(?:\d+ 0 R|-?[\d.]+|\/[^\s/<>[\]()]+|true|false)/.exec(rest);
  if (simple !== null) return simple[0];
  const pairs: Readonly<Record<string, string>> = { '[': ']', '<': '>', '(': ')' };
  const open = rest.charAt(0);
  let depth = 0;
  for (let i = 0; i < rest.length; i++) {
    if (rest[i] === '\\') i++;
    else if (rest[i] === open) depth++;
    else if (rest[i] === pairs[open] && --depth === 0) return rest.slice(0, i + 1);
  }
  return undefined;
};

const arrayOf = (value: string | undefined): readonly string[] => {
  if (value === undefined) return [];
  return value.startsWith('[') ? (value.match(/\d+ 0 R|-?[\d.]+|\/\w+|<<|\(/g) ?? []) : [value];
};

const literal = (text: string): string => {
  const raw = Buffer.from(
    text
      .trim()
      .replace(/^\(|\)$/g, '')
      .replace(/\\(.)/gs, (_, c: string) => ({ n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' })[c] ?? c),
    'latin1',
  );
  return raw[0] === 0xfe && raw[1] === 0xff ? raw.subarray(2).swap16().toString('utf16le') : raw.toString('latin1');
};

type Font = Readonly<{
  name: string;
  text: ReadonlyMap<string, string>;
  /** Thousandths of the size, by glyph. */ widths: readonly number[];
}>;

const readFont = ({ dictionary }: Stored, find: (reference: string | undefined) => Stored): Font => {
  const map = find(valueOf(dictionary, 'ToUnicode')).stream?.toString('latin1') ?? '';
  const text = new Map<string, string>();
  for (const [, first = '', , list = ''] of map.matchAll(/<([0-9a-f]{4})> <([0-9a-f]{4})> \[([^\]]*)\]/g)) {
    (list.match(/<[^>]*>/g) ?? []).forEach((codes, at) => {
      const units = (codes.match(/[0-9a-f]{4}/g) ?? []).map((hex) => parseInt(hex, 16));
      text.set((parseInt(first, 16) + at).toString(16).padStart(4, '0'), String.fromCharCode(...units));
    });
  }
  const descendant = find(arrayOf(valueOf(dictionary, 'DescendantFonts'))[0]).dictionary;
  const widths = (/\[0 \[([^\]]*)\]/.exec(valueOf(descendant, 'W') ?? '')?.[1] ?? '').trim().split(/\s+/).map(Number);
  return { widths, name: (valueOf(dictionary, 'BaseFont') ?? '').replace(/^\/[A-Z]{6}\+/, ''), text };
};

const readSheet = (
  page: string,
  find: (reference: string | undefined) => Stored,
  fonts: Map<string, Font>,
): ReadSheet => {
  const [, , width = 0, height = 0] = (valueOf(page, 'MediaBox')?.match(/-?[\d.]+/g) ?? []).map(Number);
  const resources = find(valueOf(page, 'Resources')).dictionary;
  const own = new Map<string, Font>();
  for (const [, name = '', reference = ''] of (valueOf(resources, 'Font') ?? '').matchAll(/\/(F\d+) (\d+ 0 R)/g)) {
    const font = fonts.get(reference) ?? readFont(find(reference), find);
    fonts.set(reference, font);
    own.set(name, font);
  }
  const content = find(valueOf(page, 'Contents')).stream?.toString('latin1') ?? '';
  const links = arrayOf(valueOf(page, 'Annots')).flatMap((reference) => {
    const annotation = find(reference).dictionary;
    const action = valueOf(annotation, 'A');
    const dictionary = action === undefined || action.startsWith('<<') ? (action ?? '') : find(action).dictionary;
    const uri = valueOf(dictionary.replace('/S /URI', ''), 'URI');
    return uri === undefined ? [] : [literal(uri)];
  });
  return { width, height, lines: linesOf(content, own), links: [...new Set(links)], content };
};

type Line = { y: number; end: number; text: string };

/** Further apart than a space is: another column. */
const GAP_PT = 4;

/** Words that stand at one height, one after the other, are one line; a tab between columns. */
const linesOf = (content: string, fonts: ReadonlyMap<string, Font>): readonly string[] => {
  const lines: Line[] = [];
  for (const [block] of content.matchAll(/BT\n[\s\S]*?\nET/g)) {
    const [, x = 0, y = 0] = (/^1 0 0 1 (-?[\d.]+) (-?[\d.]+) Tm/m.exec(block) ?? []).map(Number);
    const [, name = '', size = '0'] = /\/(F\d+) ([\d.]+) Tf/.exec(block) ?? [];
    const font = fonts.get(name);
    const codes =
      [...block.matchAll(/<([0-9a-f]+)>/g)]
        .map(([, hex = '']) => hex)
        .join('')
        .match(/.{4}/g) ?? [];
    const text = codes.map((code) => font?.text.get(code) ?? '\ufffd').join('');
    const end =
      x + codes.reduce((sum, code) => sum + (font?.widths[parseInt(code, 16)] ?? 0), 0) * (Number(size) / 1_000);
    const last = lines.at(-1);
    if (last === undefined || Math.abs(last.y - y) > 0.01 || x < last.end - 1) {
      lines.push({ y, end, text });
      continue;
    }
    last.text += (x > last.end + GAP_PT ? '\t' : '') + text;
    last.end = end;
  }
  return lines.map(({ text }) => text.replace(/ *\t/g, '\t').trim()).filter((text) => text !== '');
};
