/**
 * Pictures of a document, judged from their own bytes before a library reads them: a corrupt one is an error that names
 * its place. SVG drawings are written anew, as resvg draws them.
 */
import { hash } from 'node:crypto';
import { parseDocument } from 'htmlparser2';
import { boundedCache } from '../../../shared/cache.js';
import { pathsOf, plainColors } from '../svg/draw.js';
import { roboto } from './font-files.js';
import { fontBytes, type Fonts } from './fonts.js';
import { lengthOf } from './rich-style.js';
import {
  checkedPng,
  dataUriImage,
  jpegSize,
  PIXELS_MAX,
  tooManyPixels,
  unusable,
  type CheckedPng,
} from './picture-files.js';
import { pictureSize } from '../../../domain/rendering/pictures.js';
import type { LoadedImage } from '../../../domain/ports/generator.js';
import type { DomainError } from '../../../domain/core/errors.js';
import type { Picture } from './context.js';

type Pictures = Readonly<{
  picture: (src: string, field: string) => Picture | undefined;
  /** The files that were asked for, by the names that nodes show them under. */
  files: () => ReadonlyMap<string, Uint8Array>;
}>;

type PictureSource = Readonly<{ images: ReadonlyMap<string, LoadedImage>; fonts: Fonts; locale: string }>;

/** Width and height in points. */
type DrawnSvg = Readonly<{ width: number; height: number }> &
  (Readonly<{ svg: string }> | Readonly<{ png: Uint8Array }>);
type SvgPlace = Readonly<{
  field: string;
  fonts: Fonts;
  locale: string;
  /** Something in it asks for a variable of CSS. */ asksVariables?: boolean;
}>;

type Dom = ReturnType<typeof parseDocument>['children'][number];
type Element = Dom & { name: string; attribs: Record<string, string>; children: Dom[] };

const POINTS_PER_PIXEL = 0.75;

/** Drawn elements, each use of a symbol counted again. */
const DRAWN_MAX = 20_000;
const DEPTH_MAX = 50;
const ENTITY_DEPTH_MAX = 5;
const ENTITY_CHARS_MAX = 1_000_000;
/** A drawing that becomes a picture has so many dots for each of its pixels, and so many at its longer side. */
const PICTURE_DENSITY = 5;
const PICTURE_SIDE = { min: 1_000, max: 2_000 } as const;

/** Drawings without letters, by what they are drawn from: a logo stands in each document of a bulk send. */
const DRAWN_KEPT_MAX = 100;
const DRAWN_KEPT_BYTES_MAX = 8 * 1024 * 1024;
const keptDrawings = boundedCache<string, NonNullable<ReturnType<typeof pathsOf>>>({
  entriesMax: DRAWN_KEPT_MAX,
  size: { max: DRAWN_KEPT_BYTES_MAX, of: (drawn) => ('png' in drawn ? drawn.png.byteLength : drawn.svg.length) + 1 },
});

const DEFAULT_WIDTH_PT = 225;
const DEFAULT_HEIGHT_PT = 112.5;

/**
 * `images` by their addresses; data URIs are read here. Throws GENERATION_FAILED for a picture that cannot be drawn.
 */
export const openPictures = ({ images, fonts, locale }: PictureSource): Pictures => {
  const known = new Map<string, Picture | undefined>();
  const files = new Map<string, Uint8Array>();
  const kept = (bytes: Uint8Array, width: number, height: number): Picture => {
    const name = `picture${files.size + 1}`;
    files.set(name, bytes);
    return { kind: 'file', name, width, height };
  };
  const shown = ({ width, height, ...drawn }: DrawnSvg): Picture =>
    'png' in drawn ? kept(drawn.png, width, height) : { kind: 'svg', svg: drawn.svg, width, height };
  const open = (src: string, field: string): Picture | undefined => {
    const loaded = images.get(src) ?? dataUriImage(src);
    if (loaded === undefined) return undefined;
    const bytes = Buffer.from(loaded.bytes.buffer, loaded.bytes.byteOffset, loaded.bytes.byteLength);
    switch (loaded.contentType) {
      case 'image/svg+xml':
        return shown(drawnSvg(bytes.toString('utf8'), { field, fonts, locale }));
      case 'image/gif':
      case 'image/webp':
        throw notConverted(bytes, loaded.contentType, field);
      case 'font/ttf':
      case 'font/otf':
        throw unusable(field, 'is a font; it must be a PNG, a JPEG, a WebP, a GIF or an SVG');
      case 'image/png':
      case 'image/jpeg': {
        const file = loaded.contentType === 'image/png' ? checkedPng(bytes, field) : checkedJpeg(bytes);
        if (file === undefined)
          throw unusable(
            field,
            `is not a whole ${loaded.contentType === 'image/png' ? 'PNG' : 'JPEG'} file; save it anew`,
          );
        return kept(file.bytes, file.width * POINTS_PER_PIXEL, file.height * POINTS_PER_PIXEL);
      }
    }
  };
  return {
    picture: (src, field) => {
      if (!known.has(src)) known.set(src, open(src, field));
      return known.get(src);
    },
    files: () => files,
  };
};

/** The refusal of a GIF or WebP that was not converted to PNG or JPEG. */
const notConverted = (bytes: Buffer, contentType: 'image/gif' | 'image/webp', field: string): DomainError => {
  const size = pictureSize(bytes, contentType);
  return size !== undefined && size.width * size.height > PIXELS_MAX
    ? tooManyPixels(field, size)
    : unusable(field, `is not a whole ${contentType === 'image/gif' ? 'GIF' : 'WebP'} file; save it anew`);
};

const checkedJpeg = (bytes: Buffer): CheckedPng | undefined => {
  const size = jpegSize(bytes);
  return size === undefined ? undefined : { bytes, ...size };
};

/**
 * In: an SVG from others. Out: what resvg draws of it, as paths without references, texts and styles, or as a picture
 * where paths cannot say it. Throws GENERATION_FAILED where it holds no drawing, one that is too large, or what resvg
 * does not draw as a browser does; FONT_MISSING for its text.
 */
export const drawnSvg = (source: string, where: SvgPlace): DrawnSvg => {
  const { field } = where;
  const place = { ...where, asksVariables: /\bvar\(/i.test(source) };
  const document = parseDocument(withoutEntities(source, field), { xmlMode: true });
  const root = document.children.find(
    (node): node is Element => isElement(node) && node.name.replace(/^[\w.-]+:/, '') === 'svg',
  );
  if (root === undefined) throw unusable(field, 'is not an SVG file: it has no <svg> element');
  withoutPrefixes(root, prefixesOf(source));
  const byId = new Map<string, Element>();
  index(root, byId, 0, field);
  count(root, byId, field);
  const box = viewBoxOf(root.attribs['viewBox']);
  const width =
    positive(lengthOf(root.attribs['width'], 12, 0)) ??
    (box === undefined ? DEFAULT_WIDTH_PT : box[2] * POINTS_PER_PIXEL);
  const height =
    positive(lengthOf(root.attribs['height'], 12, 0)) ??
    (box === undefined ? DEFAULT_HEIGHT_PT : (width * box[3]) / box[2]);
  Object.assign(root.attribs, {
    width: String(width / POINTS_PER_PIXEL),
    height: String(height / POINTS_PER_PIXEL),
    viewBox: (box ?? [0, 0, width / POINTS_PER_PIXEL, height / POINTS_PER_PIXEL]).join(' '),
  });
  const svg = write(root, place);
  const letters = lettersOf(root, source, place);
  const key = hash('sha256', svg);
  const drawn = keptDrawings.get(key) ?? pathsOf(svg, letters, dotsOf(width, height));
  if (drawn !== undefined && letters.length === 0) keptDrawings.set(key, drawn);
  if (drawn === undefined)
    throw unusable(field, 'is an SVG that cannot be drawn: a part of it is not as its format says');
  if ('png' in drawn) return { ...drawn, width, height };
  return {
    svg: drawn.svg.replace(/ width="[^"]*" height="[^"]*"/, ` width="${width}" height="${height}"`),
    width,
    height,
  };
};

const dotsOf = (width: number, height: number): Readonly<{ width: number; height: number }> => {
  const long = Math.max(width, height);
  const side = Math.min(Math.max((long / POINTS_PER_PIXEL) * PICTURE_DENSITY, PICTURE_SIDE.min), PICTURE_SIDE.max);
  const dots = (points: number): number => Math.max(1, Math.round((points * side) / long));
  return { width: dots(width), height: dots(height) };
};

const ENTITY = /<!ENTITY\s+([\w.:-]+)\s+(?:"([^"]*)"|'([^']*)')\s*>/g;
const DOCTYPE = /<!DOCTYPE[^[>]*(?:\[[^\]]*\]\s*)?>/i;

/** Entities that the file declares itself stand for texts. */
const withoutEntities = (source: string, field: string): string => {
  const declared = DOCTYPE.exec(source)?.[0] ?? '';
  const values = new Map(
    [...declared.matchAll(ENTITY)].map(([, name = '', double, single]) => [name, double ?? single ?? '']),
  );
  let text = source.replace(declared, '');
  for (let depth = 0; values.size > 0 && depth < ENTITY_DEPTH_MAX; depth++) {
    const next = text.replace(/&([\w.:-]+);/g, (whole, name: string) => values.get(name) ?? whole);
    if (next.length > source.length + ENTITY_CHARS_MAX)
      throw unusable(field, 'has entities that stand for too much text');
    if (next === text) break;
    text = next;
  }
  return text;
};

const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';

/** The prefixes that stand for SVG. */
const prefixesOf = (source: string): ReadonlySet<string> =>
  new Set([
    'svg',
    ...[...source.matchAll(/\sxmlns:([\w.-]+)\s*=\s*["']([^"']*)["']/g)].flatMap(([, prefix = '', space]) =>
      space === SVG_NAMESPACE ? [prefix] : [],
    ),
  ]);

const withoutPrefixes = (node: Element, prefixes: ReadonlySet<string>): void => {
  const [prefix = '', name] = node.name.split(':');
  if (name !== undefined && prefixes.has(prefix)) node.name = name;
  for (const child of node.children) if (isElement(child)) withoutPrefixes(child, prefixes);
};

const isElement = (node: Dom): node is Element => 'attribs' in node;

const positive = (value: number | undefined): number | undefined =>
  value !== undefined && value > 0 ? value : undefined;

const viewBoxOf = (text: string | undefined): readonly [number, number, number, number] | undefined => {
  const [x, y, width, height, ...rest] = (text ?? '')
    .trim()
    .split(/[\s,]+/)
    .map(Number);
  if (x === undefined || y === undefined || width === undefined || height === undefined || rest.length > 0)
    return undefined;
  return [x, y, width, height].every(Number.isFinite) && width > 0 && height > 0 ? [x, y, width, height] : undefined;
};

const index = (node: Element, byId: Map<string, Element>, depth: number, field: string): void => {
  if (depth > DEPTH_MAX) throw unusable(field, `nests its elements more than ${DEPTH_MAX} deep`);
  const id = node.attribs['id'];
  if (id !== undefined && !byId.has(id)) byId.set(id, node);
  for (const child of node.children) if (isElement(child)) index(child, byId, depth + 1, field);
};

/**
 * Uses of uses multiply; they are counted as they would be drawn, before anything is. A use inside of itself draws
 * nothing.
 */
const count = (root: Element, byId: ReadonlyMap<string, Element>, field: string): void => {
  let drawn = 0;
  const visit = (node: Element, open: ReadonlySet<Element>): void => {
    if (++drawn > DRAWN_MAX) throw unusable(field, `draws more than ${DRAWN_MAX.toLocaleString('en-US')} elements`);
    for (const child of node.children) if (isElement(child)) visit(child, open);
    if (node.name !== 'use') return;
    const target = byId.get(hrefOf(node)?.slice(1) ?? '');
    if (target === undefined) return;
    if (open.has(target) || contains(target, node)) {
      delete node.attribs['href'];
      delete node.attribs['xlink:href'];
      return;
    }
    visit(target, new Set([...open, target]));
  };
  visit(root, new Set());
};

const contains = (outer: Element, inner: Element): boolean => {
  for (let node: Element['parent'] | Element = inner; node !== null; node = node.parent)
    if (node === outer) return true;
  return false;
};

const hrefOf = ({ attribs }: Element): string | undefined => {
  const href = attribs['href'] ?? attribs['xlink:href'];
  return href?.startsWith('#') === true ? href : undefined;
};

/** Elements that a browser draws and resvg does not. */
const UNDRAWN: ReadonlySet<string> = new Set([
  'foreignObject',
  'video',
  'audio',
  'iframe',
  'canvas',
  'tref',
  'mesh',
  'meshgradient',
]);

const write = (node: Dom, place: SvgPlace): string => {
  if (!isElement(node))
    return node.type === 'text'
      ? escaped('data' in node ? node.data : '')
      : node.type === 'cdata' && 'children' in node
        ? node.children.map((child) => write(child, place)).join('')
        : '';
  const { name } = node;
  // Names with a prefix are notes of another program.
  if (name === 'script' || name.includes(':')) return '';
  if (name === 'foreignObject' && isOptional(node)) return '';
  if (UNDRAWN.has(name)) throw undrawn(place, name, 'which only browsers draw');
  if (name === 'style') return `<style>${escaped(plainRules(textOf(node), place))}</style>`;
  return `<${name}${written(node, place)}>${node.children.map((child) => write(child, place)).join('')}</${name}>`;
};

/** Programs put what only they read into a drawing, and beside it what others draw. */
const isOptional = (node: Element): boolean =>
  node.attribs['requiredExtensions'] !== undefined ||
  (node.parent !== null &&
    'name' in node.parent &&
    node.parent.name === 'switch' &&
    node.parent.children.filter(isElement).length > 1);

const undrawn = ({ field }: SvgPlace, element: string, what: string): DomainError =>
  unusable(field, `has <${element.slice(0, 40)}> ${what}; draw it with plain shapes, or save the picture as PNG`);

const textOf = (node: Element): string =>
  node.children
    .map((child) => ('data' in child ? child.data : 'children' in child ? textOf(child as Element) : ''))
    .join('');

/** Attributes of the root element that say where it is, and what resvg reads of a prefix. */
const written = (node: Element, place: SvgPlace): string => {
  const attributes: Record<string, string> = {};
  for (const [name, value] of Object.entries(node.attribs)) {
    if (
      /^on|^(?:xmlns|style)$/i.test(name) ||
      (name.includes(':') && !/^(?:xml:space|xml:lang|xlink:href)$/.test(name))
    )
      continue;
    if (name === 'href' || name === 'xlink:href') Object.assign(attributes, hrefAttribute(node, value, place));
    else if (!leadsAway(value))
      attributes[name] = name === 'd' || name === 'points' ? value : plainValue(value, node.name, place);
  }
  const isRoot = node.parent === null || !('name' in node.parent);
  const style = plainDeclarations(node.attribs['style'] ?? '', { element: node.name, place, isRoot }, attributes);
  if (style !== '') attributes['style'] = style;
  moveOrigin(attributes, node.name, place);
  return (
    (isRoot ? ` xmlns="${SVG_NAMESPACE}" xmlns:xlink="http://www.w3.org/1999/xlink"` : '') +
    Object.entries(attributes)
      .map(([name, value]) => ` ${name}="${escaped(value)}"`)
      .join('')
  );
};

/** Browsers load nothing for a drawing that is shown as a picture. */
const hrefAttribute = (node: Element, value: string, place: SvgPlace): Readonly<Record<string, string>> => {
  const link = value.trim();
  if (link.startsWith('#')) return { 'xlink:href': link };
  if ((node.name !== 'image' && node.name !== 'feImage') || !/^data:image\//i.test(link)) return {};
  const image = dataUriImage(link);
  if (image === undefined || !['image/png', 'image/jpeg', 'image/gif'].includes(image.contentType))
    throw undrawn(place, node.name, 'that holds a picture of another kind than PNG, JPEG and GIF');
  return { 'xlink:href': link };
};

/** True if the value names something outside of the drawing. */
const leadsAway = (value: string): boolean => /url\s*\(\s*(?!['"]?#)/i.test(value) || /javascript:/i.test(value);

/** Functions that resvg takes for no value at all. */
const UNKNOWN_FUNCTION = /\b(var|calc|env|min|max|clamp|hwb|lab|lch|oklab|oklch|color|color-mix|light-dark)\(/i;

/** The value as CSS 2 and SVG 1.1 write it. Throws GENERATION_FAILED for one that they cannot. */
const plainValue = (value: string, element: string, place: SvgPlace): string => {
  if (!value.includes('(')) return value;
  const known = chosen(value);
  const unknown = UNKNOWN_FUNCTION.exec(known)?.[1];
  if (unknown !== undefined) throw undrawn(place, element, `with the function ${unknown}(), which is not drawn`);
  return plainColors(known.replace(/\burl\(\s*["']\s*(#[^"')]*)["']\s*\)/gi, 'url($1)'));
};

const CHOICES_MAX = 100;

/** `light-dark()` is its first colour, `var()` what stands in it for a variable that is not set. */
const chosen = (value: string): string => {
  let text = value;
  for (let choice = 0; choice < CHOICES_MAX; choice++) {
    const found = /\b(light-dark|var)\(/i.exec(text);
    if (found === null) return text;
    const open = found.index + found[0].length;
    const end = closing(text, open - 1, '()');
    const comma = commaIn(text, open, end);
    if (comma === undefined) return text;
    const kept = found[1]?.toLowerCase() === 'var' ? text.slice(comma + 1, end) : text.slice(open, comma);
    text = text.slice(0, found.index) + kept.trim() + text.slice(end + 1);
  }
  return text;
};

const commaIn = (text: string, from: number, to: number): number | undefined => {
  for (let at = from; at < to; at++) {
    if (text[at] === ',') return at;
    if (text[at] === '(') at = closing(text, at, '()');
  }
  return undefined;
};

/** Properties that SVG 2 has as CSS and SVG 1.1 as attributes. */
const GEOMETRY: ReadonlySet<string> = new Set(['x', 'y', 'width', 'height', 'cx', 'cy', 'r', 'rx', 'ry']);
const UNKNOWN_PROPERTY = /^(?:d|rotate|scale|translate|offset(?:-.*)?|mask-(?:image|border.*))$/;
const FONT =
  /^(?:(italic|oblique|normal)\s+)?(?:(bold|bolder|lighter|normal|\d{3})\s+)?([\d.]+[a-z%]*)(?:\s*\/\s*[\w.%]+)?\s+(.+)$/i;

type Declared = Readonly<{
  element: string;
  place: SvgPlace;
  /** Its size is that of the picture. */ isRoot?: boolean;
}>;

/**
 * In: declarations of CSS. Out: those that resvg reads; what are attributes to it are put into `attributes`, where the
 * declarations are those of one element.
 */
const plainDeclarations = (
  css: string,
  { element, place, isRoot = false }: Declared,
  attributes?: Record<string, string>,
): string =>
  css
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .split(';')
    .flatMap((declaration) => {
      const colon = declaration.indexOf(':');
      const [property, value] = [declaration.slice(0, colon).trim().toLowerCase(), declaration.slice(colon + 1).trim()];
      // A variable that is set is not known to resvg, so that nothing may ask for one.
      if (property.startsWith('--') && place.asksVariables === true)
        throw undrawn(place, element, `with the variable ${property.slice(0, 40)}, which is not drawn`);
      if (colon < 0 || value === '' || property.startsWith('-') || leadsAway(value)) return [];
      if (isRoot && GEOMETRY.has(property)) return [];
      const plain = plainValue(value, element, place);
      if (GEOMETRY.has(property) && attributes !== undefined) {
        attributes[property] = plain;
        return [];
      }
      if (
        GEOMETRY.has(property) ||
        UNKNOWN_PROPERTY.test(property) ||
        (property === 'clip-path' && /\((?!\s*['"]?#)/.test(plain))
      )
        throw undrawn(place, element, `with the property ${property} as style, which is not drawn`);
      if (property === 'transform' || property === 'transform-origin') {
        if (attributes !== undefined) attributes[property] = plain;
        else if (property === 'transform')
          throw undrawn(place, element, 'with the property transform, which is not drawn');
        return [];
      }
      const [, style, weight, size, family] = property === 'font' ? (FONT.exec(plain) ?? []) : [];
      if (size !== undefined && family !== undefined)
        return [
          `font-style:${style ?? 'normal'};font-weight:${weight ?? 'normal'};font-size:${size};font-family:${family}`,
        ];
      return [`${property}:${plain}`];
    })
    .join(';');

const CSS_TRANSFORMATION =
  /3d\(|(?:rotate|translate|scale)[XYZ]\(|perspective\(|\d(?:turn|g?rad|r?em|ex|ch|v[wh]|[cm]m|in|p[tc]|%)/i;

/** Writes units and the origin of a transformation into its numbers. */
const moveOrigin = (attributes: Record<string, string>, element: string, place: SvgPlace): void => {
  const transform = attributes['transform']
    ?.replace(/(\d)(?:deg|px)\b/g, '$1')
    .replace(/\b(translate|scale)([XY])\(([^()]*)\)/g, (_, kind: string, axis: string, by: string) => {
      const rest = kind === 'scale' ? '1' : '0';
      return `${kind}(${axis === 'X' ? `${by} ${rest}` : `${rest} ${by}`})`;
    });
  const origin = attributes['transform-origin'];
  delete attributes['transform-origin'];
  if (transform === undefined) return;
  if (CSS_TRANSFORMATION.test(transform))
    throw undrawn(place, element, 'with a transformation that SVG 1.1 does not have, which is not drawn');
  attributes['transform'] = transform;
  if (origin === undefined) return;
  const [x, y, ...more] = origin
    .trim()
    .split(/\s+/)
    .map((part) => Number(part.replace(/px$/, '')));
  if (x === undefined || y === undefined || more.length > 0 || !Number.isFinite(x + y))
    throw undrawn(place, element, 'with transform-origin in words or shares, which is not drawn');
  attributes['transform'] = `translate(${x} ${y}) ${transform} translate(${-x} ${-y})`;
};

/** States that nothing on paper has. */
const STATE = /::[a-z-]+|:(?:hover|focus|focus-visible|focus-within|active|visited|target)\b/;

/**
 * Rules of CSS without those that begin with @: what a bright screen shows. Throws GENERATION_FAILED for what resvg
 * does not read.
 */
const plainRules = (css: string, place: SvgPlace): string => {
  const text = css.replace(/\/\*[\s\S]*?\*\/|<!--|-->/g, '');
  const refuse = (what: string): DomainError =>
    undrawn(place, 'style', `with ${what.trim().slice(0, 80)}, which is not drawn`);
  let out = '';
  for (let at = 0; at < text.length;) {
    const open = text.indexOf('{', at);
    const head = text.slice(at, open < 0 ? undefined : open).trim();
    const semicolon = head.startsWith('@') ? head.indexOf(';') : -1;
    if (semicolon >= 0) {
      at = text.indexOf(';', at) + 1;
      continue;
    }
    if (open < 0) break;
    const end = closing(text, open, '{}');
    const inner = text.slice(open + 1, end);
    at = end + 1;
    if (/^@media\b/i.test(head)) {
      const applies = head.slice('@media'.length).split(',').map(isShown);
      if (applies.includes(undefined)) throw refuse(head);
      if (applies.includes(true)) out += plainRules(inner, place);
    } else if (head.startsWith('@')) {
      if (!/^@(?:font-face|page|(?:-[a-z]+-)?keyframes)\b/i.test(head)) throw refuse(head);
    } else {
      const selectors = head.split(',').filter((selector) => !STATE.test(selector));
      const unknown = selectors.find((selector) =>
        /~(?!=)|:(?!first-child\b|root\b)|\\|&/.test(selector.replace(/"[^"]*"|'[^']*'/g, '')),
      );
      if (unknown !== undefined || inner.includes('{')) throw refuse(unknown ?? head);
      const declarations = plainDeclarations(inner, {
        element: 'style',
        place,
        isRoot: selectors.every((selector) => /^\s*(?:svg|:root)\s*$/.test(selector)),
      });
      if (selectors.length > 0 && declarations !== '')
        out += `${selectors.join(',').replaceAll(':root', 'svg')}{${declarations}}`;
    }
  }
  return out;
};

const closing = (text: string, open: number, pair: '{}' | '()'): number => {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === pair[0]) depth++;
    else if (text[at] === pair[1] && --depth === 0) return at;
  }
  return text.length;
};

/**
 * In: one query of @media. Out: whether a bright screen without wishes of its reader meets it; undefined for other
 * questions.
 */
const isShown = (query: string): boolean | undefined => {
  const parts = query
    .trim()
    .toLowerCase()
    .replace(/^only\s+/, '')
    .split(/\s+and\s+/)
    .map((part) => part.replace(/\s+/g, ''));
  const answers = parts.map((part) =>
    /^(?:|all|screen|\(prefers-color-scheme:light\)|\(prefers-[a-z-]+:no-preference\))$/.test(part)
      ? true
      : /^(?:print|speech|\(prefers-color-scheme:dark\)|\(prefers-[a-z-]+:(?:reduce|more|less|custom)\)|\(forced-colors:active\))$/.test(
            part,
          )
        ? false
        : undefined,
  );
  return answers.includes(false) ? false : answers.includes(undefined) ? undefined : true;
};

/** The files of the fonts that the letters of the drawing are in. Throws FONT_MISSING. */
const lettersOf = (root: Element, source: string, { fonts, locale, field }: SvgPlace): readonly Uint8Array[] => {
  const texts: string[] = [];
  const look = (node: Element, isText: boolean): void => {
    for (const child of node.children)
      if (isElement(child)) look(child, isText || child.name === 'text');
      else if (isText && 'data' in child && child.data.trim() !== '') texts.push(child.data.replace(/\s+/g, ' '));
  };
  look(root, false);
  if (texts.length === 0) return [];
  const styles = [false, /bold|font-weight[^;]*[6-9]00/i.test(source)].flatMap((bold) =>
    [false, /italic|oblique/i.test(source)].map((italic) => ({ bold, italic })),
  );
  const named = [...source.matchAll(/font(?:-family)?\s*[:=]\s*(?:"([^"]*)"|'([^']*)'|([^;}"<]*))/gi)].flatMap(
    ([, double, single, bare]) => fonts.familyOf(double ?? single ?? bare ?? '') ?? [],
  );
  const files = new Set([roboto.files.normal]);
  for (const family of [undefined, ...new Set(named)])
    for (const style of styles)
      for (const { font } of fonts.line(texts.join(' '), style, {
        field,
        locale,
        ...(family === undefined ? {} : { family }),
      }).runs)
        files.add(
          fonts.descriptors[font]?.[
            style.bold ? (style.italic ? 'bolditalics' : 'bold') : style.italic ? 'italics' : 'normal'
          ] ?? '',
        );
  files.delete('');
  return [...files].map(fontBytes);
};

const escaped = (text: string): string =>
  text
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
