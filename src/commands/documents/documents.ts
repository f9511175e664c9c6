/**
 * Makes the document of an attachment template: asks which pictures it shows, fetches them, and hands them to the
 * generator.
 */
import { isUtf8 } from 'node:buffer';
import { loadAsset } from '../templates/assets.js';
import type { DocumentNeeds } from './needs.js';
import { fontFilesOf, type AttachmentTemplateContent, type OutputFormat } from '../../domain/rendering/content.js';
import { imageFieldOf } from '../../domain/templates/attachment-template.js';
import { readSvg } from '../../domain/templates/svg.js';
import { DomainError } from '../../domain/core/errors.js';
import type { TeamId } from '../../domain/core/ids.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { DocumentInput, FontType, LoadedImage, MadeDocument } from '../../domain/ports/generator.js';
import { OutboundFault } from '../../domain/ports/outbound-http.js';
import type { RenderEnvironment } from '../../domain/rendering/scope/constants.js';

export type DocumentOrder = Readonly<{
  teamId: TeamId;
  content: AttachmentTemplateContent;
  /** Names the revision for ever. */
  cacheKey: string;
  variables: JsonObject;
  environment: RenderEnvironment;
  format: OutputFormat;
  /** Title inside the document. */
  title: string;
  signal: AbortSignal;
}>;

/** An order to make a document. `cacheKey`: undefined where its template is not saved. */
type MadeOrder = Omit<DocumentOrder, 'cacheKey'> & Readonly<{ cacheKey: string | undefined }>;

/**
 * Out: the document. Rejects with IMAGE_NOT_AVAILABLE, IMAGES_TOO_LARGE, and with what the generator rejects with. An
 * order gives the same bytes each time as long as the pictures stay the same.
 */
export const makeDocument = async (deps: DocumentNeeds, order: MadeOrder): Promise<MadeDocument> => {
  const { teamId, content, cacheKey, variables, environment, format, title, signal } = order;
  const input: DocumentInput = { teamId, content, cacheKey, variables, environment };
  const sources = await deps.generator.imageSources(input, format, signal);
  const images = await loadImages(deps, order, sources);
  return deps.generator.make(
    input,
    format,
    images,
    { title, author: environment.company.name, createdAt: environment.at },
    signal,
  );
};

/**
 * By the revision of a template: whether a character that the service's fonts lack is lacking in the fonts of the
 * template too.
 */
export type KnownCharacters = Map<string, Map<string, boolean>>;

/**
 * Out: the characters of the document that no font has. Rejects with what drawing it would reject with, as far as that
 * is known without drawing. Fonts that the template brings are loaded only where `known` does not say what they have.
 */
export const checkDocument = async (
  deps: DocumentNeeds,
  order: Omit<DocumentOrder, 'title'>,
  known: KnownCharacters,
): Promise<readonly string[]> => {
  const { teamId, content, cacheKey, variables, environment, format, signal } = order;
  const input: DocumentInput = { teamId, content, cacheKey, variables, environment };
  const lacking = await deps.generator.check(input, format, new Map(), signal);
  const fonts = [...fontFilesOf(content.schema).keys()];
  if (lacking.length === 0 || fonts.length === 0) return lacking;
  const looked = known.get(cacheKey) ?? new Map<string, boolean>();
  known.set(cacheKey, looked);
  if (lacking.some((character) => !looked.has(character))) {
    const files = await loadImages(deps, order, fonts);
    const left = new Set(await deps.generator.check(input, format, files, signal));
    for (const character of lacking) looked.set(character, left.has(character));
  }
  return lacking.filter((character) => looked.get(character) === true);
};

/** Each may hold a whole file in memory. */
const IMAGES_AT_ONCE_MAX = 6;

/** Brings in the pictures, some at a time. The first that fails stops the others. */
const loadImages = async (
  deps: DocumentNeeds,
  order: Omit<DocumentOrder, 'title' | 'cacheKey'>,
  sources: readonly string[],
): Promise<ReadonlyMap<string, LoadedImage>> => {
  const images = new Map<string, LoadedImage>();
  if (sources.length === 0) return images;
  const stop = new AbortController();
  const signal = AbortSignal.any([order.signal, stop.signal, AbortSignal.timeout(deps.limits.documentImagesTimeoutMs)]);
  const queue = sources.values();
  const fonts = order.format === 'pdf' ? fontFilesOf(order.content.schema) : new Map<string, string>();
  let sizeBytes = 0;
  const work = async (): Promise<void> => {
    for (const source of queue) {
      if (signal.aborted) throw notAvailable(order, source, 'The pictures of the document did not all come in time.');
      const bytes = await loadImage(deps, { ...order, signal }, source);
      const contentType = fonts.has(source) ? await fontType(deps, bytes) : await imageType(deps, bytes);
      if (typeof contentType !== 'string') throw notAvailable(order, source, contentType.fault);
      sizeBytes += bytes.byteLength;
      if (sizeBytes > deps.limits.documentImagesSizeBytesMax)
        throw tooLarge(sizeBytes, deps.limits.documentImagesSizeBytesMax);
      images.set(source, { bytes, contentType });
    }
  };
  try {
    await Promise.all(Array.from({ length: IMAGES_AT_ONCE_MAX }, work));
  } finally {
    stop.abort();
  }
  return images;
};

const ASSET = 'asset:';

const loadImage = async (
  deps: DocumentNeeds,
  order: Omit<DocumentOrder, 'title' | 'cacheKey'>,
  source: string,
): Promise<Uint8Array> => {
  if (source.startsWith(ASSET)) {
    const asset = await loadAsset(deps, order.teamId, source.slice(ASSET.length));
    if (asset === undefined) throw notAvailable(order, source, 'There is no such asset. GET /api/assets lists yours.');
    return asset.bytes;
  }
  const { outboundSizeBytesMax, outboundTimeoutMs, outboundRedirectsMax } = deps.limits;
  try {
    const { bytes } = await deps.outbound.get(source, {
      teamId: order.teamId,
      sizeBytesMax: outboundSizeBytesMax,
      timeoutMs: outboundTimeoutMs,
      redirectsMax: outboundRedirectsMax,
      accept: 'image/*',
      signal: order.signal,
    });
    return bytes;
  } catch (fault) {
    if (fault instanceof OutboundFault) throw notAvailable(order, source, fault.message);
    throw fault;
  }
};

const rasterTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;

/**
 * Tells the type from the bytes alone: a server or a name only claims one. An SVG that loads other files is refused.
 */
const imageType = async (
  { mediaTypes }: DocumentNeeds,
  bytes: Uint8Array,
): Promise<LoadedImage['contentType'] | Readonly<{ fault: string }>> => {
  const signature = await mediaTypes.of(bytes);
  const raster = rasterTypes.find((type) => type === signature);
  if (raster !== undefined) return raster;
  const svg = isUtf8(bytes)
    ? await readSvg(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
    : undefined;
  if (svg === undefined) return { fault: 'It is no PNG, JPEG, GIF, WebP or SVG.' };
  return 'fault' in svg
    ? { fault: `The SVG ${svg.fault}; only drawings that are whole and stand alone are taken.` }
    : 'image/svg+xml';
};

/** The font itself was checked when it was uploaded. */
const fontType = async (
  { mediaTypes }: DocumentNeeds,
  bytes: Uint8Array,
): Promise<FontType | Readonly<{ fault: string }>> => {
  const signature = await mediaTypes.of(bytes);
  return signature === 'font/ttf' || signature === 'font/otf' ? signature : { fault: 'It is no TTF or OTF font.' };
};

const ADDRESS_CHARS_SHOWN = 200;

/** The query of an address may hold a signature, and is left out. */
const shownAddress = (source: string): string => {
  const address = source.split(/[?#]/, 1)[0] ?? '';
  return address.length > ADDRESS_CHARS_SHOWN ? `${address.slice(0, ADDRESS_CHARS_SHOWN)}…` : address;
};

/** `reason`: a sentence that says what would be right, and nothing about our network. */
const notAvailable = ({ content }: Pick<DocumentOrder, 'content'>, source: string, reason: string): DomainError => {
  const font = fontFilesOf(content.schema).get(source);
  const field = font ?? imageFieldOf(content, source) ?? 'schema.pages';
  const what = font === undefined ? 'picture' : 'font';
  const message = `the ${what} ${shownAddress(source)} cannot be ${font === undefined ? 'shown' : 'used'}. ${reason}`;
  return new DomainError('IMAGE_NOT_AVAILABLE', `${field}: ${message}`, { errors: [{ field, message }] });
};

const tooLarge = (actualSizeBytes: number, maxSizeBytes: number): DomainError =>
  new DomainError(
    'IMAGES_TOO_LARGE',
    `The pictures of the document have together at least ${actualSizeBytes} bytes; at most ${maxSizeBytes} are allowed. Show smaller ones.`,
    {
      relatedInfo: { actualSizeBytes, maxSizeBytes },
    },
  );
