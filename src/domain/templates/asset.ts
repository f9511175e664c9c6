/**
 * Assets of a team's gallery: their state and the decisions about them, which files the gallery takes and as what, and
 * how much it holds.
 */
import { isUtf8 } from 'node:buffer';
import { DomainError } from '../core/errors.js';
import { pictureSize, type PictureSize } from '../rendering/pictures.js';
import { readSvg } from './svg.js';
import type { Decider } from '../core/decider.js';
import type { AssetDescription, AssetEvent, AssetUploaded } from './events.js';
import type { Limits } from '../core/limits.js';

/**
 * `description` is undefined once the key is destroyed: what is left has no name and no bytes. `isGone`: it cannot be
 * taken back.
 */
type Asset = Omit<AssetUploaded['data'], 'at'> &
  Readonly<{ createdAt: string; deletedAt: string | null; isGone: boolean; description: AssetDescription | undefined }>;
export type AssetState = Asset | undefined;

export type AssetCommand =
  | Readonly<{ type: 'UploadAsset'; uploaded: AssetUploaded }>
  | Readonly<{ type: 'TrashAsset'; at: string }>
  /** An asset deleted before `deletedSince` cannot be restored. */
  | Readonly<{ type: 'RestoreAsset'; at: string; deletedSince: string }>
  /** Deletes for good, whether it was deleted before or not. */
  | Readonly<{ type: 'DeleteAsset'; at: string }>
  /** Has no effect on an asset that is not deleted, or that was deleted at `deletedSince` or later. */
  | Readonly<{ type: 'RemoveAsset'; at: string; deletedSince: string }>;

export const assetNotFound = (): DomainError =>
  new DomainError('ASSET_NOT_FOUND', 'There is no asset with this id. GET /api/assets lists yours.');

const decide = (command: AssetCommand, asset: AssetState): readonly AssetEvent[] => {
  if (command.type === 'UploadAsset') return asset === undefined ? [command.uploaded] : [];
  if (asset === undefined) throw assetNotFound();
  const { at } = command;
  const gone: AssetEvent = { type: 'AssetDeleted', data: { at } };
  switch (command.type) {
    case 'TrashAsset':
      return asset.deletedAt === null ? [{ type: 'AssetTrashed', data: { at } }] : [];
    case 'RestoreAsset':
      if (asset.isGone || (asset.deletedAt !== null && asset.deletedAt < command.deletedSince)) throw assetNotFound();
      return asset.deletedAt === null ? [] : [{ type: 'AssetRestored', data: { at } }];
    case 'DeleteAsset':
      return asset.isGone ? [] : [gone];
    case 'RemoveAsset':
      return asset.isGone || asset.deletedAt === null || asset.deletedAt >= command.deletedSince ? [] : [gone];
  }
};

export const assetDecider: Decider<AssetCommand, AssetEvent, AssetState> = {
  decide,
  evolve: (asset, event) => {
    switch (event.type) {
      case 'AssetUploaded': {
        const { at, ...data } = event.data;
        return { ...data, createdAt: at, deletedAt: null, isGone: false, description: event.sealed };
      }
      case 'AssetTrashed':
        return asset && { ...asset, deletedAt: event.data.at };
      case 'AssetRestored':
        return asset && { ...asset, deletedAt: null };
      case 'AssetDeleted':
        return asset && { ...asset, deletedAt: asset.deletedAt ?? event.data.at, isGone: true };
    }
  },
  initialState: undefined,
};

/** An asset as lists show it. */
export type AssetListing = {
  id: string;
  filename: string;
  contentType: string;
  sizeBytes: number;
  sha256: string;
  /** In pixels; pictures only. */
  width?: number;
  height?: number;
  createdAt: string;
};

export const assetListing = (
  id: string,
  { contentType, sizeBytes, width, height, createdAt }: Omit<Asset, 'description' | 'isGone'>,
  { filename, sha256 }: AssetDescription,
): AssetListing => ({
  id,
  filename,
  contentType,
  sizeBytes,
  sha256,
  ...(width === undefined ? {} : { width }),
  ...(height === undefined ? {} : { height }),
  createdAt,
});

export type AssetKind = Readonly<{ contentType: string; size: PictureSize | undefined }>;

/** The extensions that fit each type, the usual one first. */
const extensions: Readonly<Record<string, readonly string[]>> = {
  'image/png': ['png'],
  'image/jpeg': ['jpg', 'jpeg', 'jpe', 'jfif'],
  'image/gif': ['gif'],
  'image/webp': ['webp'],
  'image/svg+xml': ['svg'],
  'font/ttf': ['ttf'],
  'font/otf': ['otf'],
  'application/pdf': ['pdf'],
  'text/plain': ['txt', 'text', 'log', 'md', 'json'],
  'text/csv': ['csv', 'tsv'],
  'text/calendar': ['ics'],
  'application/zip': ['zip'],
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': ['docx'],
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': ['xlsx'],
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': ['pptx'],
  'application/vnd.oasis.opendocument.text': ['odt'],
  'application/vnd.oasis.opendocument.spreadsheet': ['ods'],
  'application/vnd.oasis.opendocument.presentation': ['odp'],
};

/** Every type that the gallery takes. */
export const assetTypes: readonly string[] = Object.keys(extensions);

const RASTER: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
/**
 * Formats that are text and yet tell their own kind; any other signature that a text happens to begin with means
 * nothing.
 */
const WRITTEN_AS_TEXT: readonly string[] = [
  'application/pdf',
  'application/rtf',
  'application/postscript',
  'text/calendar',
];

/** True for pictures of dots, which browsers may show: nothing in them can act. */
export const isRaster = (contentType: string): boolean => RASTER.includes(contentType);

/** True for fonts, which are checked before they are kept. */
export const isFont = (contentType: string): boolean => contentType === 'font/ttf' || contentType === 'font/otf';

const TAKEN =
  'The gallery takes PNG, JPEG, GIF, WebP and SVG pictures, TTF and OTF fonts, PDF, text and CSV in UTF-8, calendar files, ZIP, and documents of Word, Excel, PowerPoint and OpenDocument without macros.';

const notAllowed = (what: string, contentType?: string): DomainError =>
  new DomainError(
    'ASSET_TYPE_NOT_ALLOWED',
    `${what} ${TAKEN}`,
    contentType === undefined ? {} : { relatedInfo: { contentType } },
  );

/**
 * Tells the type of a file from its bytes; the name only chooses among harmless texts. In: bytes, what their signature
 * shows, and the name they came under. Rejects with ASSET_TYPE_NOT_ALLOWED.
 */
export const kindOf = async (bytes: Buffer, signature: string | undefined, filename: string): Promise<AssetKind> => {
  const text = WRITTEN_AS_TEXT.includes(signature ?? '') ? undefined : textOf(bytes);
  if (text !== undefined) return kindOfText(text, filename);
  if (signature === undefined)
    throw notAllowed('The file is of no known type, or damaged, or text in another encoding than UTF-8.');
  if (!Object.hasOwn(extensions, signature))
    throw notAllowed(`The file is of the type ${signature}, which is not taken.`, signature);
  const size = pictureSize(bytes, signature);
  if (isRaster(signature) && size === undefined)
    throw notAllowed(`The file begins as ${signature} does, but is damaged.`, signature);
  return { contentType: signature, size };
};

const CONTROL = /[\x00-\x08\x0b\x0e-\x1f\x7f]/;

/** The text that the bytes are, or undefined where they are not text in UTF-8. */
const textOf = (bytes: Buffer): string | undefined => {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  return CONTROL.test(text) ? undefined : text;
};

const kindOfText = async (text: string, filename: string): Promise<AssetKind> => {
  // The byte order mark counts as a blank.
  const start = text.trimStart();
  if (start.startsWith('#!')) throw notAllowed('The file is a program.');
  if (start.startsWith('<')) {
    const svg = await readSvg(text);
    if (svg === undefined)
      throw notAllowed('The file is HTML or XML, which could act in the name of whoever shows it.');
    if ('fault' in svg)
      throw notAllowed(
        `The SVG ${svg.fault}; only drawings that are whole and stand alone are taken.`,
        'image/svg+xml',
      );
    return { contentType: 'image/svg+xml', size: svg.size };
  }
  return { contentType: fits(filename, 'text/csv') ? 'text/csv' : 'text/plain', size: undefined };
};

const fits = (filename: string, contentType: string): boolean => {
  const dot = filename.lastIndexOf('.');
  return dot > 0 && extensions[contentType]!.includes(filename.slice(dot + 1).toLowerCase());
};

/**
 * Ends the name with an extension of its type, at most `charsMax` long, so that no program takes the file for another
 * than it is.
 */
export const nameFor = (filename: string, contentType: string, charsMax: number): string => {
  const extension = fits(filename, contentType)
    ? filename.slice(filename.lastIndexOf('.'))
    : `.${extensions[contentType]![0]!}`;
  const stem = fits(filename, contentType) ? filename.slice(0, -extension.length) : filename;
  return `${shortened(stem, charsMax - extension.length)}${extension}`;
};

/** Cut without cutting a character in two. */
const shortened = (text: string, charsMax: number): string =>
  text
    .slice(0, charsMax)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd();

/** Files and bytes in a team's gallery. `position`: of the newest event that is counted; absent for none. */
export type AssetUsage = Readonly<{ count: number; sizeBytes: number; position?: number }>;

const written = new Intl.NumberFormat('en-US');

/**
 * Throws ASSET_TOO_LARGE or STORAGE_LIMIT_EXCEEDED. `usage` may be behind by what is uploaded at the same moment: the
 * bound of a gallery may be passed by as much, never by more.
 */
export const checkAssetSizes = (
  sizeBytes: number,
  usage: AssetUsage,
  { assetSizeBytesMax, assetStorageBytesMax, assetsMax }: Limits,
): void => {
  if (sizeBytes > assetSizeBytesMax) throw assetTooLarge(sizeBytes, assetSizeBytesMax);
  if (usage.count >= assetsMax) {
    throw new DomainError(
      'STORAGE_LIMIT_EXCEEDED',
      `The gallery holds ${written.format(usage.count)} assets, the maximum is ${written.format(assetsMax)}. Delete what is not used any more.`,
      {
        relatedInfo: { actualAssets: usage.count, maxAssets: assetsMax },
      },
    );
  }
  const storedBytes = usage.sizeBytes + sizeBytes;
  if (storedBytes > assetStorageBytesMax) {
    throw new DomainError(
      'STORAGE_LIMIT_EXCEEDED',
      `With this file the gallery would hold ${written.format(storedBytes)} bytes, the maximum is ${written.format(assetStorageBytesMax)}. Delete what is not used any more.`,
      { relatedInfo: { actualSizeBytes: storedBytes, maxSizeBytes: assetStorageBytesMax } },
    );
  }
};

/** `actual` is undefined where the reading was stopped at the maximum. */
export const assetTooLarge = (actual: number | undefined, max: number): DomainError =>
  new DomainError(
    'ASSET_TOO_LARGE',
    `The file has ${actual === undefined ? `more than ${written.format(max)}` : written.format(actual)} bytes, the maximum is ${written.format(max)}.`,
    {
      relatedInfo: { ...(actual === undefined ? {} : { actualSizeBytes: actual }), maxSizeBytes: max },
    },
  );
