/**
 * Draws SVGs as PNGs, because nearly no mail client shows an SVG: those in a template when it is saved, those of the
 * gallery when a mail is accepted.
 */
import type { LoadedAsset } from './assets.js';
import type { TemplateNeeds } from './needs.js';
import { drawingOf } from '../../domain/rendering/pictures.js';
import { readSvg } from '../../domain/templates/svg.js';
import { DomainError } from '../../domain/core/errors.js';
import type { TeamId } from '../../domain/core/ids.js';
import { isJsonObject, type Json } from '../../domain/core/json.js';

type Deps = Pick<TemplateNeeds, 'generator' | 'limits'>;

const SVG = 'image/svg+xml';

/**
 * In: a file of the gallery that a mail shows. Out: the same, a drawing as PNG; one that cannot be drawn stays what it
 * is. Rejects with GENERATOR_BUSY.
 */
export const withoutSvg = async (deps: Deps, teamId: TeamId, asset: LoadedAsset): Promise<LoadedAsset> => {
  if (asset.contentType !== SVG) return asset;
  const png = await drawn(deps, teamId, asset.bytes.toString('utf8')).catch((fault: unknown) => {
    if (fault instanceof DomainError && fault.code !== 'GENERATOR_BUSY') return undefined;
    throw fault;
  });
  if (typeof png !== 'object') return asset;
  return { bytes: png, contentType: 'image/png', filename: `${asset.filename.replace(/\.svg$/i, '')}.png` };
};

/** A sentence part says why there is no picture. */
const drawn = async ({ generator }: Deps, teamId: TeamId, svg: string): Promise<Buffer | string> => {
  const found = await readSvg(svg);
  if (found === undefined) return 'is none';
  if ('fault' in found) return found.fault;
  const png = await generator.drawSvg({ teamId, svg, drawing: drawingOf(found.size) }, new AbortController().signal);
  return png === undefined ? 'cannot be drawn' : Buffer.from(png.buffer, png.byteOffset, png.byteLength);
};

const DATA_SVG = /^\s*data:image\/svg\+xml((?:;[a-z0-9=-]+)*),([^]*)$/i;
const SOURCE_IN_HTML = /(\ssrc\s*=\s*)(?:"(\s*data:image\/svg\+xml[^"]*)"|'(\s*data:image\/svg\+xml[^']*)')/gi;

type Drawable = Readonly<{ schema?: unknown; translations?: unknown }>;

/**
 * In: a template of mails as it came in, which need not be one. Out: the same with a PNG for each data URI of an SVG,
 * in `src` and in HTML, and in the texts of its translations and what they are found by: a text of the template and its
 * translations must go on to fit. Rejects with TEMPLATE_INVALID where one is no drawing that stands alone or there are
 * too many, and with what the generator rejects with.
 */
export const withDrawnSvgs = async <T extends Drawable>(deps: Deps, teamId: TeamId, template: T): Promise<T> => {
  const { schema, translations } = template;
  // Nearly no template has one.
  if (!/image\/svg\+xml/i.test(JSON.stringify([schema, translations]))) return template;
  const pngOf = drawnOnce(deps, teamId);
  return {
    ...template,
    ...(schema !== undefined && {
      schema: await mapTexts(schema as Json, 'schema', drawingIn(pngOf, deps.limits.inlineImagesMax)),
    }),
    ...(translations !== undefined && {
      translations: await mapMembers(translations as Json, 'translations', async (texts, field) => {
        // A text stands there twice, with what it is found by.
        const draw = drawingIn(pngOf, 2 * deps.limits.inlineImagesMax);
        return mapMembers(texts, field, (text, at) => mapTexts(text, at, draw), draw);
      }),
    }),
  };
};

type PngOf = (svg: string, field: string) => Promise<string>;
type MapText = (text: string, field: string) => Promise<string>;

/** The data URI of a drawing, each of which is drawn once. */
const drawnOnce = (deps: Deps, teamId: TeamId): PngOf => {
  const made = new Map<string, string>();
  return async (svg, field) => {
    const known = made.get(svg);
    if (known !== undefined) return known;
    const png = await drawn(deps, teamId, svg);
    if (typeof png === 'string')
      throw refused(field, `holds an SVG that ${png}; only drawings that are whole and stand alone are taken`);
    const uri = `data:image/png;base64,${png.toString('base64')}`;
    made.set(svg, uri);
    return uri;
  };
};

/** Fills up to `max` places with pictures: however small a drawing is, its picture may be large. */
const drawingIn = (pngOf: PngOf, max: number): MapText => {
  let left = max;
  const shown = async (address: string, field: string): Promise<string> => {
    const svg = textOf(address);
    if (svg === undefined) return address;
    left -= 1;
    if (left < 0) throw refused(field, `has more than ${max} drawings as data URIs`);
    return pngOf(svg, field);
  };
  return async (text, field) => {
    if (DATA_SVG.test(text)) return shown(text, field);
    let made = '';
    let from = 0;
    for (const { index, 0: whole, 1: name = '', 2: double, 3: single } of text.matchAll(SOURCE_IN_HTML)) {
      const address = (double ?? single ?? '')
        .replaceAll('&quot;', '"')
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&amp;', '&');
      made += `${text.slice(from, index)}${name}"${await shown(address, field)}"`;
      from = index + whole.length;
    }
    return made + text.slice(from);
  };
};

const mapTexts = async (value: Json, field: string, map: MapText): Promise<Json> => {
  if (typeof value === 'string') return map(value, field);
  if (!Array.isArray(value)) return mapMembers(value, field, (member, at) => mapTexts(member, at, map));
  const items: Json[] = [];
  for (const [at, item] of (value as readonly Json[]).entries())
    items.push(await mapTexts(item, `${field}[${at}]`, map));
  return items;
};

const mapMembers = async (
  value: Json,
  field: string,
  map: (member: Json, field: string) => Promise<Json>,
  mapName?: MapText,
): Promise<Json> => {
  if (!isJsonObject(value)) return value;
  const members: [string, Json][] = [];
  for (const [name, member] of Object.entries(value))
    members.push([
      mapName === undefined ? name : await mapName(name, field),
      await map(member, mapName === undefined ? `${field}.${name}` : field),
    ]);
  return Object.fromEntries(members);
};

/** The drawing that a data URI holds; undefined where its form is damaged, or variables are yet to be filled in. */
const textOf = (address: string): string | undefined => {
  const [, parameters = '', data = ''] = DATA_SVG.exec(address) ?? [];
  if (data.includes('{{')) return undefined;
  try {
    return /;base64$/i.test(parameters) ? Buffer.from(data, 'base64').toString('utf8') : decodeURIComponent(data);
  } catch {
    return undefined;
  }
};

const refused = (field: string, message: string): DomainError =>
  new DomainError('TEMPLATE_INVALID', `the template is not valid: ${field}: ${message}`, {
    errors: [{ field, message }],
  });
