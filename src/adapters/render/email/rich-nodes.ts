/** Takes author's HTML apart into a closed set of elements; `{{…}}` survives in text and in attribute values, nowhere else. */
import { parseDocument } from 'htmlparser2';
import type { TemplatedText, TextPart } from '../../../domain/rendering/fill/templated-text.js';
import type { Path } from '../../../domain/rendering/scope/path.js';
import { sanitized, tagsOf, type RichMode } from '../sanitize.js';
import type { Context } from './context.js';
import { templated } from './values.js';

/** What an element is there for: of each group of paths one has a value. */
export type When = readonly (readonly Path[])[];

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
  const key = `${mode} ${content}`;
  const known = context.richTexts.get(key);
  if (known !== undefined) return known;
  const nodes = parsed(content, mode, context);
  context.richTexts.set(key, nodes);
  return nodes;
};

const tagSets = { inline: new Set(tagsOf.inline), block: new Set(tagsOf.block), fragment: new Set(tagsOf.fragment) };

const parsed = (content: string, mode: RichMode, context: Context): readonly RichNode[] => {
  const parts = templated(content, context);
  if (!/[<&]/.test(content)) return [{ kind: 'text', text: parts }];
  const mark = unusedMark(content);
  // Placeholders become words without any meaning in HTML, so that no reader of HTML takes offence at them.
  const marked = parts.map((part, at) => (typeof part === 'string' ? part : `${mark}${at}z`)).join('');
  const clean = sanitized(marked, mode, mark);
  const marks = new RegExp(`${mark}(\\d+)z`, 'g');
  const restore = (text: string): TemplatedText => (text.includes(mark) ? restored(text, marks, parts) : text === '' ? [] : [text]);
  return parseDocument(clean).children.flatMap((node) => convert(node, restore, tagSets[mode]));
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

const convert = (node: DomNode, restore: (text: string) => TemplatedText, tags: ReadonlySet<string>): readonly RichNode[] => {
  if (node.type === 'text' && 'data' in node) return [{ kind: 'text', text: restore(node.data) }];
  if (!('attribs' in node)) return [];
  const children = node.children.flatMap((child) => convert(child, restore, tags));
  if (!tags.has(node.name)) return children;
  const found = new Map(Object.entries(node.attribs).map(([name, value]) => [name, restore(value)] as const));
  return [{ kind: 'element', tag: node.name, attributes: found, children }];
};
