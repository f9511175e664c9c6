/** Pictures of a document, judged from their own bytes before a library reads them: a corrupt one is an error that names its place. SVG drawings are written anew. */
import { parseDocument } from 'htmlparser2';
import type { Fonts } from './fonts.js';
import { lengthOf } from './rich-style.js';
import { checkedPng, dataUriImage, jpegSize, PIXELS_MAX, tooManyPixels, unusable, type CheckedPng } from './picture-files.js';
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

type CleanSvg = Readonly<{ svg: string; /** Points. */ width: number; height: number }>;
type SvgPlace = Readonly<{ field: string; fonts: Fonts; locale: string }>;

type Dom = ReturnType<typeof parseDocument>['children'][number];
type Element = Dom & { name: string; attribs: Record<string, string>; children: Dom[] };

const POINTS_PER_PIXEL = 0.75;

const ELEMENTS = new Set([
  'svg',
  'g',
  'defs',
  'symbol',
  'use',
  'path',
  'rect',
  'circle',
  'ellipse',
  'line',
  'polyline',
  'polygon',
  'text',
  'tspan',
  'linearGradient',
  'radialGradient',
  'stop',
  'clipPath',
  'style',
]);
/** Elements that are dropped but for their content. */
const TRANSPARENT = new Set(['a', 'switch']);
const ATTRIBUTE = /^(?!on)[a-zA-Z][a-zA-Z-]*$/;
const DROPPED_ATTRIBUTES = new Set(['xmlns', 'mask', 'filter', 'marker', 'marker-start', 'marker-mid', 'marker-end', 'src', 'base']);
/** Drawn elements, each use of a symbol counted again. */
const DRAWN_MAX = 20_000;
const DEPTH_MAX = 50;

const DEFAULT_WIDTH_PT = 225;
const DEFAULT_HEIGHT_PT = 112.5;

/** `images` by their addresses; data URIs are read here. Throws GENERATION_FAILED for a picture that cannot be drawn. */
export const openPictures = ({ images, fonts, locale }: PictureSource): Pictures => {
  const known = new Map<string, Picture | undefined>();
  const files = new Map<string, Uint8Array>();
  const open = (src: string, field: string): Picture | undefined => {
    const loaded = images.get(src) ?? dataUriImage(src);
    if (loaded === undefined) return undefined;
    const bytes = Buffer.from(loaded.bytes.buffer, loaded.bytes.byteOffset, loaded.bytes.byteLength);
    switch (loaded.contentType) {
      case 'image/svg+xml':
        return { kind: 'svg', ...cleanSvg(bytes.toString('utf8'), { field, fonts, locale }) };
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
          throw unusable(field, `is not a whole ${loaded.contentType === 'image/png' ? 'PNG' : 'JPEG'} file; save it anew`);
        const name = `picture${files.size + 1}`;
        files.set(name, file.bytes);
        return { kind: 'file', name, width: file.width * POINTS_PER_PIXEL, height: file.height * POINTS_PER_PIXEL };
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

/** What could be read is a PNG or a JPEG by now. */
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
 * An SVG from others, written anew with shapes, text and colours only: no script, no address, no reference that multiplies. Throws
 * GENERATION_FAILED where it holds no drawing or one that is too large, FONT_MISSING for its text.
 */
export const cleanSvg = (source: string, place: SvgPlace): CleanSvg => {
  const document = parseDocument(source, { xmlMode: true });
  const root = document.children.find((node): node is Element => isElement(node) && node.name.replace(/^\w+:/, '') === 'svg');
  if (root === undefined) throw unusable(place.field, 'is not an SVG file: it has no <svg> element');
  const byId = new Map<string, Element>();
  index(root, byId, 0, place.field);
  count(root, byId, place.field);
  const box = viewBoxOf(root.attribs['viewBox']);
  const width = positive(lengthOf(root.attribs['width'], 12, 0)) ?? (box === undefined ? DEFAULT_WIDTH_PT : box[2] * 0.75);
  const height = positive(lengthOf(root.attribs['height'], 12, 0)) ?? (box === undefined ? DEFAULT_HEIGHT_PT : (width * box[3]) / box[2]);
  const viewBox = (box ?? [0, 0, width / 0.75, height / 0.75]).join(' ');
  const ratio = root.attribs['preserveAspectRatio'];
  const inner = root.children.map((child) => write(child, place, false)).join('');
  const own = written(root, false, new Set(['width', 'height', 'viewBox', 'x', 'y', 'preserveAspectRatio']));
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${viewBox}"${ratio === undefined ? '' : ` preserveAspectRatio="${escaped(ratio)}"`}${own}>${inner}</svg>`;
  return { svg, width, height };
};

const isElement = (node: Dom): node is Element => 'attribs' in node;

const positive = (value: number | undefined): number | undefined => (value !== undefined && value > 0 ? value : undefined);

const viewBoxOf = (text: string | undefined): readonly [number, number, number, number] | undefined => {
  const [x, y, width, height, ...rest] = (text ?? '')
    .trim()
    .split(/[\s,]+/)
    .map(Number);
  if (x === undefined || y === undefined || width === undefined || height === undefined || rest.length > 0) return undefined;
  return [x, y, width, height].every(Number.isFinite) && width > 0 && height > 0 ? [x, y, width, height] : undefined;
};

const index = (node: Element, byId: Map<string, Element>, depth: number, field: string): void => {
  if (depth > DEPTH_MAX) throw unusable(field, `nests its elements more than ${DEPTH_MAX} deep`);
  const id = node.attribs['id'];
  if (id !== undefined && !byId.has(id)) byId.set(id, node);
  for (const child of node.children) if (isElement(child)) index(child, byId, depth + 1, field);
};

/** Uses of uses multiply; they are counted as they would be drawn, before anything is. A use inside of itself draws nothing. */
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
  for (let node: Element['parent'] | Element = inner; node !== null; node = node.parent) if (node === outer) return true;
  return false;
};

const hrefOf = ({ attribs }: Element): string | undefined => {
  const href = attribs['href'] ?? attribs['xlink:href'];
  return href?.startsWith('#') === true ? href : undefined;
};

const write = (node: Dom, place: SvgPlace, inClip: boolean): string => {
  if (!isElement(node))
    return 'data' in node && node.parent !== null && 'name' in node.parent ? writeText(node.data, node.parent.name, place) : '';
  const name = node.name.replace(/^svg:/, '');
  const clips = inClip || name === 'clipPath';
  const inner = (): string => node.children.map((child) => write(child, place, clips)).join('');
  if (TRANSPARENT.has(name)) return inner();
  if (!ELEMENTS.has(name)) return '';
  if (name === 'style')
    return `<style>${escaped(cleanCss(node.children.map((child) => ('data' in child ? child.data : '')).join('')))}</style>`;
  return `<${name}${written(node, inClip, new Set())}>${inner()}</${name}>`;
};

const written = (node: Element, inClip: boolean, without: ReadonlySet<string>): string => {
  const href = hrefOf(node);
  const attributes = Object.entries(node.attribs).flatMap(([name, value]) => {
    if (!ATTRIBUTE.test(name) || name === 'href' || without.has(name) || DROPPED_ATTRIBUTES.has(name) || (inClip && name === 'clip-path'))
      return [];
    const clean = name === 'style' ? cleanCss(value) : value;
    return leadsAway(clean) ? [] : [` ${name}="${escaped(clean)}"`];
  });
  return attributes.join('') + (href === undefined ? '' : ` href="${escaped(href)}"`);
};

/** True if the value names something outside of the drawing. */
const leadsAway = (value: string): boolean => /url\s*\(\s*(?!['"]?#)/i.test(value) || /javascript:/i.test(value);

/** Rules without imports and without addresses. */
const cleanCss = (css: string): string =>
  css
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/@[^;{}]*(?:;|\{[^}]*\}|$)/g, '')
    .replace(/(?:mask|filter|marker[a-z-]*)\s*:[^;}]*/gi, '')
    .replace(/url\s*\(\s*(?!['"]?#)[^)]*\)?/gi, 'none');

/** Text in fonts that have it, from left to right as it is drawn: what draws the SVG knows nothing of either. */
const writeText = (text: string, parent: string, { fonts, locale, field }: SvgPlace): string => {
  if (parent !== 'text' && parent !== 'tspan' && parent !== 'a') return '';
  const collapsed = text.replace(/\s+/g, ' ');
  if (collapsed === '') return '';
  const { runs } = fonts.line(collapsed, { bold: false, italic: false }, { field, locale });
  const [only] = runs;
  if (runs.length === 1 && only?.font === 'Roboto') return escaped(only.text);
  return runs.map((run) => `<tspan font-family="${escaped(run.font)}">${escaped(run.text)}</tspan>`).join('');
};

const escaped = (text: string): string =>
  text
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
