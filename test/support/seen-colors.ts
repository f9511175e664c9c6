/**
 * Reads the HTML of a mail as a client does and tells the colours of each text and of what is behind it, light or dark.
 */
import { parseDocument } from 'htmlparser2';
import { contrastOf, seenOn } from '../../src/adapters/render/colors.js';

type Node = ReturnType<typeof parseDocument>['children'][number];

/** `contrast`: of the two, as WCAG measures it. */
export type SeenText = Readonly<{ text: string; color: string; background: string; contrast: number }>;

export type Mode = 'light' | 'dark';

type Declared = Readonly<{ property: string; value: string }>;

const declarationsIn = (style: string): readonly Declared[] =>
  style.split(';').flatMap((part) => {
    const [property = '', value = ''] = part.split(/:(.*)/s);
    return value === '' ? [] : [{ property: property.trim(), value: value.replace('!important', '').trim() }];
  });

const darkRulesOf = (html: string): ReadonlyMap<string, readonly Declared[]> => {
  const [, rules = ''] = /@media \(prefers-color-scheme:dark\)\{((?:[^{}]*\{[^{}]*\})*)\}/.exec(html) ?? [];
  return new Map(
    [...rules.matchAll(/\.(\w+)\{([^}]*)\}/g)].map(([, name = '', style = '']) => [name, declarationsIn(style)]),
  );
};

/** In: the HTML of a mail, every colour without `inherit`. Out: its texts in order, without hidden ones. */
export const seenTexts = (html: string, mode: Mode): readonly SeenText[] => {
  const dark = mode === 'dark' ? darkRulesOf(html) : new Map<string, readonly Declared[]>();
  const seen: SeenText[] = [];
  const walk = (node: Node, color: string, background: string): void => {
    if (node.type === 'text' && 'data' in node) {
      const text = node.data.trim();
      const shown = seenOn(color, background) ?? background;
      if (/[^\s\u00a0]/.test(text))
        seen.push({ text, color: shown, background, contrast: contrastOf(shown, background) });
      return;
    }
    if (!('children' in node)) return;
    const attributes = 'attribs' in node ? node.attribs : {};
    if ('name' in node && node.name === 'head') return;
    const declared = [
      ...(attributes['bgcolor'] === undefined ? [] : [{ property: 'background-color', value: attributes['bgcolor'] }]),
      ...(attributes['color'] === undefined || attributes['color'] === ''
        ? []
        : [{ property: 'color', value: attributes['color'] }]),
      ...declarationsIn(attributes['style'] ?? ''),
      ...(attributes['class'] ?? '').split(' ').flatMap((name) => dark.get(name) ?? []),
    ];
    if (declared.some(({ property, value }) => property === 'display' && value === 'none')) return;
    const valueOf = (name: string): string | undefined => declared.findLast(({ property }) => property === name)?.value;
    const own = valueOf('background-color');
    const behind = own === undefined ? background : (seenOn(own, background) ?? background);
    node.children.forEach((child) => walk(child, valueOf('color') ?? color, behind));
  };
  parseDocument(html).children.forEach((node) => walk(node, '#000000', mode === 'dark' ? '#000000' : '#ffffff'));
  return seen;
};
