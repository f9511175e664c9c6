/** Drawings in mails: nearly no client shows an SVG, so each becomes a PNG, in a template when it is saved, of the gallery when a mail is accepted. */
import type { LoadedAsset } from './assets.js';
import type { CommandDeps } from './deps.js';
import { drawingOf } from '../domain/asset/drawn-picture.js';
import { readSvg } from '../domain/asset/svg.js';
import { DomainError } from '../domain/errors.js';
import type { TeamId } from '../domain/ids.js';
import type { Json } from '../domain/json.js';

type Deps = Pick<CommandDeps, 'generator' | 'limits'>;

const SVG = 'image/svg+xml';

/** In: a file of the gallery that a mail shows. Out: the same, a drawing as PNG; one that cannot be drawn stays what it is. Rejects with GENERATOR_BUSY. */
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
  const found = readSvg(svg);
  if (found === undefined) return 'is none';
  if ('fault' in found) return found.fault;
  const png = await generator.drawSvg({ teamId, svg, drawing: drawingOf(found.size) }, new AbortController().signal);
  return png === undefined ? 'cannot be drawn' : Buffer.from(png.buffer, png.byteOffset, png.byteLength);
};

const DATA_SVG = /^\s*data:image\/svg\+xml((?:;[a-z0-9=-]+)*),([^]*)$/i;
const SOURCE_IN_HTML = /(\ssrc\s*=\s*)(?:"(\s*data:image\/svg\+xml[^"]*)"|'(\s*data:image\/svg\+xml[^']*)')/gi;

/**
 * In: the schema of a mail as it came in, which need not be one. Out: the same with a PNG for each data URI of an SVG, in `src` and in HTML.
 * Rejects with TEMPLATE_INVALID where one is no drawing that stands alone or there are too many, and with what the generator rejects with.
 */
export const withDrawnSvgs = async <T>(deps: Deps, teamId: TeamId, schema: T): Promise<T> => {
  // Nearly no template has one.
  if (schema === undefined || !/image\/svg\+xml/i.test(JSON.stringify(schema))) return schema;
  let left = deps.limits.inlineImagesMax;
  const pngOf = async (address: string, field: string): Promise<string> => {
    const svg = textOf(address);
    if (svg === undefined) return address;
    left -= 1;
    if (left < 0) throw refused(field, `has more than ${deps.limits.inlineImagesMax} drawings as data URIs`);
    const png = await drawn(deps, teamId, svg);
    if (typeof png === 'string') throw refused(field, `holds an SVG that ${png}; only drawings that are whole and stand alone are taken`);
    return `data:image/png;base64,${png.toString('base64')}`;
  };
  const inHtml = async (html: string, field: string): Promise<string> => {
    let made = '';
    let from = 0;
    for (const { index, 0: whole, 1: name = '', 2: double, 3: single } of html.matchAll(SOURCE_IN_HTML)) {
      const address = (double ?? single ?? '')
        .replaceAll('&quot;', '"')
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&amp;', '&');
      made += `${html.slice(from, index)}${name}"${await pngOf(address, field)}"`;
      from = index + whole.length;
    }
    return made + html.slice(from);
  };
  const walk = async (value: Json, field: string): Promise<Json> => {
    if (typeof value === 'string') return DATA_SVG.test(value) ? pngOf(value, field) : inHtml(value, field);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      const items: Json[] = [];
      for (const [at, item] of (value as readonly Json[]).entries()) items.push(await walk(item, `${field}[${at}]`));
      return items;
    }
    const members: [string, Json][] = [];
    for (const [name, member] of Object.entries(value)) members.push([name, await walk(member as Json, `${field}.${name}`)]);
    return Object.fromEntries(members);
  };
  return (await walk(schema as Json, 'schema')) as T;
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
  new DomainError('TEMPLATE_INVALID', `the template is not valid: ${field}: ${message}`, { errors: [{ field, message }] });
