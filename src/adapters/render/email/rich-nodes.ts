/** Takes author's HTML apart into a closed set of elements; `{{…}}` survives in text and in attribute values, nowhere else. */
import { parseDocument } from 'htmlparser2';
import type { TemplatedText, TextPart } from '../../../domain/rendering/fill/templated-text.js';
import { optionalLinesOf, type OptionalHtml, type When } from '../../../domain/rendering/rich-text.js';
import { sanitized, tagsOf, type RichMode } from '../sanitize.js';
import type { Context } from './context.js';
import { templated } from './values.js';

export type RichText = Readonly<{ kind: 'text'; text: TemplatedText }>;
export type RichElement = Readonly<{
  kind: 'element';
  tag: string;
  attributes: ReadonlyMap<string, TemplatedText>;
  children: readonly RichNode[];
  /** Absent where it is always there. */
  when?: When;
}>;
export type RichNode = RichText | RichElement;

/**
 * In: HTML as the author wrote it, its placeholders checked. Out: its elements in order. Scripts, styles, forms, frames, event
 * handlers, comments and unknown elements are gone (unknown ones leave their text); addresses are judged where they are written.
 */
export const parseRichText = (content: string, mode: RichMode, context: Context): readonly RichNode[] => {
  return once(`${mode} ${content}`, context, () => parsed(content, mode, context));
};

/** The same for a block, of which each line says what it is there for. */
export const parseOptionalLines = (content: string, context: Context): readonly RichNode[] =>
  once(`lines ${content}`, context, () => {
    const whens: When[] = [];
    const attribute = `data-${unusedMark(content)}`;
    const html = optionalLinesOf(content, context.limits.pathSegmentsMax).map((part) => markedHtml(part, attribute, whens));
    return parsed(html.join(''), 'block', context, { attribute, whens });
  });

const once = (key: string, { richTexts }: Context, make: () => readonly RichNode[]): readonly RichNode[] => {
  const known = richTexts.get(key);
  if (known !== undefined) return known;
  const nodes = make();
  richTexts.set(key, nodes);
  return nodes;
};

/** An attribute whose value is the place of a condition among all. */
type Marks = Readonly<{ attribute: string; whens: readonly When[] }>;

/** HTML in which each part that is there for its values names its condition; what has no element of its own is a span. */
const markedHtml = (part: OptionalHtml, attribute: string, whens: When[]): string => {
  if (typeof part === 'string') return part;
  const mark = ` ${attribute}="${whens.push(part.when) - 1}"`;
  const children = part.children.map((child) => markedHtml(child, attribute, whens)).join('');
  if (part.open === '') return `<span${mark}>${children}</span>`;
  return part.open.replace(/^<[^\s/>]+/, (tag) => tag + mark) + children + part.close;
};

const tagSets = { inline: new Set(tagsOf.inline), block: new Set(tagsOf.block), fragment: new Set(tagsOf.fragment) };

const parsed = (content: string, mode: RichMode, context: Context, marks?: Marks): readonly RichNode[] => {
  const parts = templated(content, context);
  if (!/[<&]/.test(content)) return [{ kind: 'text', text: parts }];
  const mark = unusedMark(content);
  // Placeholders become words without any meaning in HTML, so that no reader of HTML takes offence at them.
  const marked = parts.map((part, at) => (typeof part === 'string' ? part : `${mark}${at}z`)).join('');
  const clean = sanitized(marked, mode, mark, marks?.attribute);
  const places = new RegExp(`${mark}(\\d+)z`, 'g');
  const restore = (text: string): TemplatedText => (text.includes(mark) ? restored(text, places, parts) : text === '' ? [] : [text]);
  return parseDocument(clean).children.flatMap((node) => convert(node, { restore, tags: tagSets[mode], marks }));
};

const unusedMark = (content: string): string => {
  const lower = content.toLowerCase();
  let mark = 'qzv';
  while (lower.includes(mark)) mark += 'v';
  return mark;
};

const restored = (text: string, marks: RegExp, parts: TemplatedText): TemplatedText => {
  const out: TextPart[] = [];
  let end = 0;
  for (const match of text.matchAll(marks)) {
    const placeholder = parts[Number(match[1])];
    if (placeholder === undefined) continue;
    if (match.index > end) out.push(text.slice(end, match.index));
    out.push(placeholder);
    end = match.index + match[0].length;
  }
  if (end < text.length) out.push(text.slice(end));
  return out;
};

type DomNode = ReturnType<typeof parseDocument>['children'][number];

type Conversion = Readonly<{ restore: (text: string) => TemplatedText; tags: ReadonlySet<string>; marks: Marks | undefined }>;

const convert = (node: DomNode, conversion: Conversion): readonly RichNode[] => {
  const { restore, tags, marks } = conversion;
  if (node.type === 'text' && 'data' in node) return [{ kind: 'text', text: restore(node.data) }];
  if (!('attribs' in node)) return [];
  const children = node.children.flatMap((child) => convert(child, conversion));
  if (!tags.has(node.name)) return children;
  const when = marks === undefined ? undefined : marks.whens[Number(node.attribs[marks.attribute])];
  const own = Object.entries(node.attribs).filter(([name]) => name !== marks?.attribute);
  const attributes = new Map(own.map(([name, value]) => [name, restore(value)] as const));
  return [{ kind: 'element', tag: node.name, attributes, children, ...(when === undefined ? {} : { when }) }];
};
