/** Documents from attachment templates, mails that are much work, and conversions, made apart from the event loop. */
import type { AttachmentTemplateContent, OutputFormat, EmailTemplateContent } from '../rendering/content.js';
import type { Drawing } from '../rendering/pictures.js';
import type { FieldError } from '../core/errors.js';
import type { TeamId } from '../core/ids.js';
import type { JsonObject } from '../core/json.js';
import type { ImportedSource, ImportedTemplate } from '../rendering/import/convert.js';
import type { EmailInput, RenderedEmail } from './renderer.js';
import type { RenderEnvironment } from '../rendering/scope/constants.js';
import type { Loss } from '../rendering/paths/losses.js';

export type DocumentInput = Readonly<{
  /** The team that owns the document: teams take turns. */
  teamId: TeamId;
  /** A checked template. */
  content: AttachmentTemplateContent;
  /** Names the revision for ever, so that what is prepared for it can be kept; undefined: nothing is kept. */
  cacheKey: string | undefined;
  variables: JsonObject;
  environment: RenderEnvironment;
}>;

/**
 * `email`: rendered within the whole budget of a call. `cacheKey`: as that of a document. `marks`: as the renderer has
 * them, only without a key.
 */
export type ApartEmail = Readonly<{
  teamId: TeamId;
  content: EmailTemplateContent;
  cacheKey: string | undefined;
  marks?: boolean;
  email: Omit<EmailInput, 'budget'>;
}>;

/** An SVG that was checked to stand alone, and how large it is to be drawn. */
export type SvgInput = Readonly<{ teamId: TeamId; svg: string; drawing: Drawing }>;

/** Metadata written into the document. Equal metadata and input give equal bytes. */
export type DocumentMetadata = Readonly<{ title: string; author: string; /** ISO time */ createdAt: string }>;

export type LoadedImage = Readonly<{
  bytes: Uint8Array;
  /** From the bytes themselves. */ contentType:
    'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp' | 'image/svg+xml' | FontType;
}>;

/**
 * `replaced`: the characters that no font of the document has, each once, where the template lets their numbers stand
 * in their place. `warnings`: what its author should know of it; `losses`: what it loses of its values, some of it
 * where it is much.
 */
export type MadeDocument = Readonly<{
  bytes: Uint8Array;
  replaced: readonly string[];
  warnings: readonly FieldError[];
  losses?: readonly Loss[];
}>;

export type FontType = 'font/ttf' | 'font/otf';

/** A mail of another service, and the team that would use its template. */
export type ConversionInput = Readonly<{ teamId: TeamId; source: ImportedSource }>;

/** A font as it was uploaded, and whose it would be. */
export type FontInput = Readonly<{ teamId: TeamId; bytes: Uint8Array }>;

/**
 * Throws DomainError: VALIDATION_ERROR (variables), ERR_LIMIT_001 to 009 with the actual value and the maximum,
 * GENERATION_FAILED (a corrupt image, a layout that does not end, a worker that died), GENERATION_TIMEOUT,
 * GENERATOR_BUSY (the queue is full), FONT_MISSING (a script that no font has). A fault of one document never harms
 * another.
 */
export type Generator = Readonly<{
  /**
   * The addresses of the pictures that the document shows, and of its fonts (`asset:`), in order and each once:
   * `https:`, `http:` and `asset:`. Checks all that can be checked without them.
   */
  imageSources: (input: DocumentInput, format: OutputFormat, signal: AbortSignal) => Promise<readonly string[]>;
  /**
   * Checks all that can be checked without the pictures and without drawing. Out: the characters that no font has, as
   * `replaced` of a made document; throws FONT_MISSING for one that is refused. `fonts`: those that the template
   * brings, by their addresses; where one of them is not given, what the fonts of the service have not is answered, and
   * nothing is refused for it.
   */
  check: (
    input: DocumentInput,
    format: OutputFormat,
    fonts: ReadonlyMap<string, LoadedImage>,
    signal: AbortSignal,
  ) => Promise<readonly string[]>;
  /** `images` by the addresses of `imageSources`. */
  make: (
    input: DocumentInput,
    format: OutputFormat,
    images: ReadonlyMap<string, LoadedImage>,
    metadata: DocumentMetadata,
    signal: AbortSignal,
  ) => Promise<MadeDocument>;
  /** Renders the mail with the same result and the same refusals as the renderer. */
  renderEmail: (input: ApartEmail, signal: AbortSignal) => Promise<RenderedEmail>;
  /** The PNG of a drawing, or undefined where it cannot be drawn. Equal drawings give equal bytes. */
  drawSvg: (input: SvgInput, signal: AbortSignal) => Promise<Uint8Array | undefined>;
  /**
   * Throws DomainError ASSET_TYPE_NOT_ALLOWED where documents cannot be written in the font, or its licence does not
   * let them.
   */
  checkFont: (input: FontInput, signal: AbortSignal) => Promise<void>;
  /** Rejects with TEMPLATE_INVALID and WORK_LIMIT_EXCEEDED as the conversion of the domain throws them. */
  convertTemplate: (input: ConversionInput, signal: AbortSignal) => Promise<ImportedTemplate>;
  /**
   * Documents are expected: the first of them shall not wait for what has to be loaded. Answers at once, and may do
   * nothing.
   */
  prepare: () => void;
  close: () => Promise<void>;
}>;
