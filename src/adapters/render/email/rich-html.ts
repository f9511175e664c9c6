/**
 * Writes the elements of rich text as HTML for mail: every style inlined, addresses judged, colours with their dark
 * twins.
 */
import type { TemplatedText } from '../../../domain/rendering/fill/templated-text.js';
import type { LinkRules } from '../../../domain/rendering/addresses.js';
import { directions } from '../../../domain/rendering/direction.js';
import { cssColor, cssDeclaration } from '../../../domain/rendering/css.js';
import { concat, isSame, js, literalOf, type Term } from './code.js';
import { type Context, whenOf, type RichElement, type RichNode, htmlOf, plainOf, shownOf } from './values.js';
import { hides } from '../rich-tree.js';
import { attributeSafe, classAttribute, colorClass, inColor, onBackground, opaque } from './style.js';
import { cssImageOf, cssPictureIn, imageOf, imageSizeOf, linkOf, type CssPicture } from './urls.js';
import type { DisplayFormat } from '../../../domain/rendering/scope/display-format.js';

const VOID = new Set(['br', 'hr', 'img', 'col', 'wbr']);

/** The usual styles of each element; `0` marks the last block, which has no margin below. */
const styles: Readonly<Record<string, string>> = {
  p: 'margin:0 0 16px',
  h1: 'margin:0 0 16px;font-size:28px;line-height:1.25;font-weight:700',
  h2: 'margin:0 0 12px;font-size:22px;line-height:1.3;font-weight:700',
  h3: 'margin:0 0 8px;font-size:18px;line-height:1.35;font-weight:600',
  h4: 'margin:0 0 8px;font-size:16px;line-height:1.4;font-weight:600',
  h5: 'margin:0 0 8px;font-size:14px;line-height:1.4;font-weight:600',
  h6: 'margin:0 0 8px;font-size:12px;line-height:1.4;font-weight:600',
  ul: 'margin:0 0 16px;padding:0 0 0 24px',
  ol: 'margin:0 0 16px;padding:0 0 0 24px',
  li: 'margin:0 0 6px',
  dl: 'margin:0 0 16px',
  dd: 'margin:0 0 8px 24px',
  blockquote: 'margin:0 0 16px;padding:0 0 0 16px;border-left:3px solid #d1d5db',
  pre: 'margin:0 0 16px;font-family:Consolas,Menlo,monospace;font-size:14px;white-space:pre-wrap',
  code: 'font-family:Consolas,Menlo,monospace;font-size:.9em',
  address: 'font-style:normal',
  hr: 'border:0;border-top:1px solid #e5e7eb;margin:16px 0',
  img: 'border:0;max-width:100%;height:auto',
};
const SPACED = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'dl', 'blockquote', 'pre']);

/** In: elements, and how the column that they stand in shows its values. Out: the terms of their HTML. */
export const richHtml = (nodes: readonly RichNode[], context: Context, column?: DisplayFormat): readonly Term[] => {
  const last = nodes.findLastIndex(
    (node) => node.kind === 'element' || literalOf(htmlLiteral(node.text))?.trim() !== '',
  );
  return nodes.flatMap((node, at) =>
    node.kind === 'text' ? shownOf(node.text, context, column) : optionalElement(node, context, at === last, column),
  );
};

const optionalElement = (
  node: RichElement,
  context: Context,
  isLast: boolean,
  column: DisplayFormat | undefined,
): readonly Term[] => {
  const terms = element(node, context, isLast, column);
  const when = node.when && whenOf(node.when, context);
  return when === undefined ? terms : [js(`(${when}?${concat(terms)}:"")`)];
};

const htmlLiteral = (text: TemplatedText): readonly Term[] =>
  text.map((part) => (typeof part === 'string' ? part : js('0')));

const element = (
  node: RichElement,
  outer: Context,
  isLast: boolean,
  column: DisplayFormat | undefined,
): readonly Term[] => {
  const { tag, attributes } = node;
  const context = directed(node, outer);
  const style = styleOf(node, context, isLast);
  const classes = [...style.classes];
  if (tag === 'hr' || tag === 'blockquote') classes.push(colorClass('line', '#e5e7eb', context));
  const open: Term[] = [`<${tag}`, classAttribute(...classes)];
  for (const [name, value] of attributes) {
    if (name !== 'style' && !(tag === 'img' && (name === 'width' || name === 'height')))
      open.push(...attribute(name, value, style.colors, context));
  }
  if (tag === 'img' && !attributes.has('alt')) open.push(' alt=""');
  const src = attributes.get('src');
  if (tag === 'img' && src === undefined) return [];
  if (tag === 'img' && src !== undefined)
    open.push(
      ...imageSizeOf(src, { width: side('width', node, context), height: side('height', node, context) }, context),
    );
  if (tag === 'table' && !attributes.has('role') && !hasHeaders(node)) open.push(' role="presentation"');
  if (style.terms.length > 0) open.push(' style="', ...style.terms, '"');
  if (VOID.has(tag)) return [...open, '>'];
  return [...open, '>', ...richHtml(node.children, style.inner, column), `</${tag}>`];
};

/** The context of the children of an element with `dir`: they are indented from that side. */
const directed = ({ attributes }: RichElement, context: Context): Context => {
  const dir = attributes.get('dir');
  const direction =
    dir === undefined ? undefined : directions.find((known) => known === literalOf(htmlLiteral(dir))?.toLowerCase());
  return direction === undefined || direction === context.direction ? context : { ...context, direction };
};

/** A side of a picture from its attribute; one expression if it holds placeholders. */
const side = (name: 'width' | 'height', { attributes }: RichElement, context: Context): Term => {
  const value = attributes.get(name);
  if (value === undefined) return '';
  const terms = htmlOf(value, context);
  return literalOf(terms) ?? js(`(${concat(terms)})`);
};

/** A table with header cells holds data; any other is there for the layout. */
const hasHeaders = ({ children }: RichElement): boolean =>
  children.some((child) => child.kind === 'element' && (child.tag === 'th' || hasHeaders(child)));

const attribute = (name: string, value: TemplatedText, colors: Style['colors'], context: Context): readonly Term[] => {
  switch (name) {
    case 'href':
      return [' href="', ...linkOf(value, context), '"'];
    case 'src':
    case 'background':
      return [` ${name}="`, ...imageOf(value, context), '"'];
    // It is for the service alone, and is written only where it is asked for.
    case 'data-sealpost-track':
      return literalOf(htmlLiteral(value)) === 'off' ? [js('UNTRACKED()')] : [];
    case 'bgcolor':
    case 'color':
      return [` ${name}="`, colors.get(name) ?? colorOf(value, context), '"'];
    default:
      return [` ${name}="`, ...htmlOf(value, context), '"'];
  }
};

/**
 * A colour that stands in an attribute; one that is none becomes transparent, or nothing where it comes from a value.
 */
const colorOf = (value: TemplatedText, context: Context): Term => {
  const literal = literalOf(htmlLiteral(value));
  return literal === undefined
    ? js(context.code.remember(`COLOR(${plainOf(value, context)},"")`))
    : (cssColor(literal) ?? 'transparent');
};

/** Indents and bars at the other side. */
const mirrored = (style: string): string =>
  style.replace(/(padding|margin):0 0 ([^\s;]+) (\d+px)/, '$1:0 $3 $2 0').replace('border-left', 'border-right');

/** `colors`: those that attributes of the element give, as they are written. */
type Style = Readonly<{
  terms: readonly Term[];
  classes: readonly Term[];
  colors: ReadonlyMap<string, Term>;
  inner: Context;
}>;

const styleOf = (node: RichElement, context: Context, isLast: boolean): Style => {
  const { tag, attributes } = node;
  const declared = declarationsOf(attributes.get('style') ?? [], context);
  const valueOf = (property: string): Term | undefined => declared.findLast((one) => one.property === property)?.value;
  const surface = colorFrom(valueOf('background-color'), attributes.get('bgcolor'), 'transparent', context);
  const around = surface === undefined ? context : onBackground(surface, undefined, context);
  const on = declared.some(({ property }) => property === 'background' || property === 'background-image')
    ? overPicture(around)
    : around;
  const isLink = tag === 'a' && attributes.has('href');
  const natural = isLink ? on.type.linkColor : on.type.color;
  const color = colorFrom(valueOf('color'), tag === 'font' ? attributes.get('color') : undefined, natural, on);
  const text = color ?? natural;
  // Text on a background takes the colours of what surrounds it, unless these cannot be read there.
  const differs = (): boolean =>
    !isSame(text, context.type.color) || !isSame(colorClass('text', text, on), colorClass('text', text, context));
  const needsColor = color === undefined && (isLink || (surface !== undefined && differs()));
  const base: Term[] = [];
  if (needsColor) base.push('color:', text);
  if (isLink) push(base, ['text-decoration:underline']);
  const usual = Object.hasOwn(styles, tag) ? (styles[tag] ?? '') : '';
  const known = context.direction === 'rtl' ? mirrored(usual) : usual;
  if (known !== '') push(base, [isLast && SPACED.has(tag) ? known.replace(/^margin:0 0 \d+px/, 'margin:0') : known]);
  for (const { property, value } of declared) {
    const seen = property === 'color' ? color : property === 'background-color' ? surface : undefined;
    push(base, [`${property}:`, attributeSafe(seen ?? value)]);
  }
  if (hides(attributes.has('hidden'), literalOf(htmlLiteral(attributes.get('style') ?? []))) && !declared.some(isNone))
    push(base, ['display:none']);
  return {
    terms: base,
    classes: [
      surface === undefined ? '' : colorClass('surface', surface, context),
      color === undefined && !needsColor ? '' : colorClass('text', text, on),
    ],
    colors: new Map<string, Term>([
      ...(surface === undefined ? [] : [['bgcolor', surface] as const]),
      ...(color === undefined ? [] : [['color', color] as const]),
    ]),
    inner: color === undefined ? on : { ...on, type: inColor(color, on) },
  };
};

/** The colour that a declaration gives, else an attribute, as it is seen; undefined where neither is there. */
const colorFrom = (
  declared: Term | undefined,
  attribute: TemplatedText | undefined,
  fallback: Term,
  context: Context,
): Term | undefined => {
  const given = declared ?? (attribute && colorOf(attribute, context));
  if (given === undefined || typeof given === 'string') return given && opaque(given, context);
  return opaque(js(context.code.remember(`${given.js}||${concat([fallback])}`)), context);
};

/** The context on a picture: what is translucent there stays so. */
const overPicture = (context: Context): Context => {
  const { surface, code } = context;
  return {
    ...context,
    surface: 'js' in surface ? js(code.remember(`({...${surface.js},picture:true})`)) : { ...surface, picture: true },
  };
};

const isNone = ({ property, value }: Declaration): boolean => property === 'display' && value === 'none';

const push = (terms: Term[], more: readonly Term[]): void => {
  if (terms.length > 0) terms.push(';');
  terms.push(...more);
};

/** Properties that mail programs of some size read (caniemail.com), and those that Outlook alone reads. */
const PROPERTIES = new Set([
  ...['color', 'opacity', 'visibility', 'mix-blend-mode', 'cursor'],
  ...['', '-color', '-image', '-repeat', '-position', '-size', '-clip', '-origin', '-attachment', '-blend-mode'].map(
    (part) => `background${part}`,
  ),
  ...['-size', '-weight', '-style', '-family', '-variant', '-stretch', '-kerning', '-size-adjust'].map(
    (part) => `font${part}`,
  ),
  ...[
    'line-height',
    'letter-spacing',
    'word-spacing',
    'white-space',
    'word-break',
    'word-wrap',
    'overflow-wrap',
    'hyphens',
    'tab-size',
  ],
  ...[
    '-align',
    '-align-last',
    '-decoration',
    '-transform',
    '-indent',
    '-overflow',
    '-shadow',
    '-orientation',
    '-emphasis',
  ].map((part) => `text${part}`),
  ...['-color', '-line', '-style', '-thickness'].map((part) => `text-decoration${part}`),
  ...[
    'text-underline-offset',
    'text-underline-position',
    'vertical-align',
    'direction',
    'unicode-bidi',
    'writing-mode',
  ],
  ...['width', 'height'].flatMap((side) => [side, `max-${side}`, `min-${side}`]),
  ...['object-fit', 'object-position', 'box-sizing', 'box-shadow', 'overflow', 'float', 'clear', 'display'],
  ...['border', 'border-top', 'border-right', 'border-bottom', 'border-left', 'outline'].flatMap((side) => [
    side,
    ...['-color', '-width', '-style'].map((part) => side + part),
  ]),
  ...['', '-top-left', '-top-right', '-bottom-right', '-bottom-left'].map((corner) => `border${corner}-radius`),
  ...['border-collapse', 'border-spacing', 'table-layout', 'caption-side', 'empty-cells'],
  ...['list-style', 'list-style-type', 'list-style-position'],
  ...['padding', 'margin'].flatMap((room) => [
    room,
    ...['top', 'right', 'bottom', 'left'].map((side) => `${room}-${side}`),
  ]),
  ...['columns', 'column-count', 'column-width', 'column-gap', 'column-rule', 'column-span', 'column-fill'],
  ...[
    'flex',
    'flex-direction',
    'flex-wrap',
    'flex-grow',
    'flex-shrink',
    'flex-basis',
    'align-items',
    'align-self',
    'justify-content',
  ],
  ...['-webkit-text-size-adjust', '-ms-text-size-adjust', '-ms-interpolation-mode'],
]);
const OUTLOOK = /^mso-[a-z-]{1,40}$/;

const isKnown = (property: string): boolean =>
  PROPERTIES.has(property) || property === 'font' || OUTLOOK.test(property);

type Declaration = Readonly<{ property: string; value: Term }>;

/**
 * The declarations that a mail may carry. A value with a placeholder is judged when it is rendered; where it fails, a
 * colour is empty, another `inherit`.
 */
const declarationsOf = (style: TemplatedText, context: Context): readonly Declaration[] =>
  split(style).flatMap(({ name, value }): readonly Declaration[] => {
    const literal = literalOf(htmlLiteral(value));
    if (literal !== undefined) return keptOf(name, literal, (css) => cssImageOf(css, context));
    if (!isKnown(name)) return [];
    const property = name === 'background' ? 'background-color' : name;
    const plain = plainOf(
      value.map((part) => (typeof part === 'string' ? part.replace(IMPORTANT, '') : part)),
      context,
    );
    const isColor = property === 'color' || property === 'background-color';
    return [{ property, value: js(context.code.remember(isColor ? `COLOR(${plain},"")` : `DECLARATION(${plain})`)) }];
  });

/** The declarations that stand for one that the author wrote out; none where it cannot be kept. */
const keptOf = (
  name: string,
  written: string,
  pictureOf: (css: string) => CssPicture | undefined,
): readonly Declaration[] => {
  if (!isKnown(name)) return [];
  const literal = written.replace(IMPORTANT, '').replaceAll('"', "'").trim();
  const isBackground = name === 'background';
  const picture = isBackground || name === 'background-image' ? pictureOf(literal) : undefined;
  if (picture !== undefined) return backgroundOf(picture, isBackground);
  if (name === 'font') return fontOf(literal);
  const isColor = name === 'color' || name === 'background-color';
  const css = isColor ? cssColor(literal) : cssDeclaration(literal);
  if (!isBackground) return css === undefined ? [] : [{ property: name, value: css }];
  const color = colorIn(literal);
  return [
    ...(css !== undefined && GRADIENT.test(css) ? [{ property: name, value: css }] : []),
    ...(color === undefined ? [] : [{ property: 'background-color', value: color }]),
  ];
};

const GRADIENT = /gradient\(/i;

/**
 * In: the text of a `style` attribute. Out: the declarations in it that are not kept, each by its property, with its
 * value where another value would be kept.
 */
export const lostDeclarations = (style: string, links: LinkRules): readonly string[] => [
  ...piecesOf(style).flatMap((piece) => (/^[;\s]*$|:/.test(piece) ? [] : [piece.trim()])),
  ...split([style]).flatMap(({ name, value }) => {
    const written = value.join('');
    if (!isKnown(name)) return [name];
    if (/\{\{|^\s*(?:none\s*)?(?:!.*)?$/i.test(written)) return [];
    const picture = cssPictureIn(written.replaceAll('"', "'"), links);
    const kept = keptOf(name, written, () => picture && { beside: picture.beside, image: '' });
    const losesPicture = /^background/.test(name) && /url\(\s*['"]?[^\s'")]/i.test(written) && picture === undefined;
    return kept.length > 0 && !losesPicture ? [] : [`${name}: ${written.trim()}`];
  }),
];

const IMPORTANT = /\s*!\s*important\s*$/i;
/** The words of a value, functions whole. */
const WORD = /[\w-]+\([^)]*\)|[^\s]+/g;

/** The colour of a shorthand such as `#fff url(…) no-repeat`. */
const colorIn = (value: string): string | undefined =>
  (value.match(WORD) ?? []).flatMap((word) => cssColor(word) ?? [])[0];

const FONT =
  /^((?:(?:normal|italic|oblique|small-caps|bold|bolder|lighter|[1-9]00)\s+)*)([\d.]+(?:px|pt|em|rem|%)|(?:x{1,2}-)?(?:small|large)|medium)(?:\s*\/\s*([\d.]+(?:px|pt|em|rem|%)?))?\s+(.+)$/i;

/**
 * The parts of the shorthand, which mail clients read one by one more surely. A value that is none of a font gives
 * nothing.
 */
const fontOf = (value: string): readonly Declaration[] => {
  const [, words = '', size, height, family] = FONT.exec(value.trim()) ?? [];
  const names = family === undefined ? undefined : cssDeclaration(family);
  if (size === undefined || names === undefined) return [];
  const given = words.toLowerCase().split(/\s+/);
  const style = given.find((word) => word === 'italic' || word === 'oblique');
  const weight = given.find((word) => /^(?:bold|bolder|lighter|\d00)$/.test(word));
  return [
    ...(style === undefined ? [] : [{ property: 'font-style', value: style }]),
    ...(weight === undefined ? [] : [{ property: 'font-weight', value: weight }]),
    { property: 'font-size', value: size },
    ...(height === undefined ? [] : [{ property: 'line-height', value: height }]),
    { property: 'font-family', value: names },
  ];
};

/** The colour stands behind the shorthand, which would reset it. */
const backgroundOf = ({ beside, image }: CssPicture, isShorthand: boolean): readonly Declaration[] => {
  const words = isShorthand ? beside.split(/\s+/).filter((word) => word !== '') : [];
  const color = words.flatMap((word) => cssColor(word) ?? [])[0];
  const rest = words.filter((word) => cssColor(word) === undefined).join(' ');
  const isSafe = rest === '' || cssDeclaration(rest.replaceAll('/', ' ')) !== undefined;
  return [
    {
      property: isShorthand ? 'background' : 'background-image',
      value: js(concat(["url('", image, isSafe && rest !== '' ? `') ${rest}` : "')"])),
    },
    ...(color === undefined ? [] : [{ property: 'background-color', value: color }]),
  ];
};

/**
 * The text of a style at its semicolons, which are pieces too, but for those within parentheses and quotation marks;
 * without comments.
 */
const piecesOf = (style: string): readonly string[] => {
  const text = style.replaceAll(/\/\*[^]*?\*\//g, ' ');
  const pieces: string[] = [];
  let from = 0;
  let end = '';
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (end !== '') end = character === end ? '' : end;
    else if (character === '(') end = ')';
    else if (character === '"' || character === "'") end = character;
    else if (character === ';') {
      pieces.push(text.slice(from, at), ';');
      from = at + 1;
    }
  }
  // A bracket or quote that is never closed does not take the next declarations with it.
  return end === '' ? [...pieces, text.slice(from)] : text.split(/(;)/);
};

const split = (style: TemplatedText): readonly { name: string; value: TemplatedText }[] => {
  const declarations: { name: string; value: TemplatedText[number][] }[] = [];
  let open: { name: string; value: TemplatedText[number][] } | undefined;
  let name = '';
  for (const part of style) {
    if (typeof part !== 'string') {
      open?.value.push(part);
      continue;
    }
    for (const piece of piecesOf(part)) {
      if (piece === ';') {
        open = undefined;
        name = '';
      } else if (open === undefined) {
        name += piece;
        const colon = name.indexOf(':');
        if (colon < 0) continue;
        open = { name: name.slice(0, colon).trim().toLowerCase(), value: [name.slice(colon + 1)] };
        declarations.push(open);
      } else {
        open.value.push(piece);
      }
    }
  }
  return declarations;
};
