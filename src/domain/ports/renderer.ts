/** Template and variables in, finished text out. */
import type { FieldError } from '../core/errors.js';
import type { PictureSize } from '../rendering/pictures.js';
import type { Budget } from '../rendering/budget.js';
import type { JsonObject } from '../core/json.js';
import type { AttachmentTemplateContent, EmailTemplateContent } from '../rendering/content.js';
import type { RenderEnvironment } from '../rendering/scope/constants.js';
import type { Loss } from '../rendering/paths/losses.js';
import type { CallLanguage } from '../rendering/translations.js';

/** A picture that travels in the mail; its HTML shows it as `cid:<contentId>` (RFC 2392). */
export type InlineImage = Readonly<{ contentId: string }> &
  (
    | Readonly<{ contentType: string; bytes: Uint8Array }>
    | /** In the asset gallery. */ Readonly<{ assetId: string }>
    | /** Attached by the call. */ Readonly<{ isAttached: true }>
  );

/** The Content-ID of a picture of the gallery in every mail that shows it. */
export const assetContentId = (assetId: string): string => `asset-${assetId}@sealpost`;

/** The asset of such a Content-ID, undefined of any other. */
export const assetOfContentId = (contentId: string): string | undefined =>
  /^asset-([0-9a-f-]{36})@sealpost$/.exec(contentId)?.[1];

/** `inline`: each picture once, in the order in which the HTML first shows it; empty for most mails. */
export type RenderedEmail = Readonly<{ subject: string; html: string; text: string; inline: readonly InlineImage[] }>;

/**
 * `assetIds`: the pictures of the gallery that the mail would show; `contentIds`: those that the call must attach;
 * `isEmpty`: its body shows neither text nor a picture; `losses`: what it loses of its values, some of them where they
 * are many.
 */
export type CheckedEmail = Readonly<{
  subject: string;
  assetIds: readonly string[];
  contentIds: readonly string[];
  isEmpty: boolean;
  losses: readonly Loss[];
}>;

export type EmailInput = Readonly<{
  variables: JsonObject;
  /** Overrides the template's subject; may hold `{{…}}` as well. */
  subject?: string;
  environment: RenderEnvironment;
  /**
   * Work budget of the call; undefined when an accepted mail is rendered, which was within its budget when it was
   * accepted.
   */
  budget?: Budget;
  /**
   * Sizes of pictures inside the mail, by the id of the asset or `cid:` and the `contentId`; what is not known is left
   * open.
   */
  pictures?: ReadonlyMap<string, PictureSize>;
  /** Links that their author does not want tracked carry a mark, which whoever tracks takes out again. */
  marksUntracked?: true;
}>;

/**
 * One template revision, compiled. Throws DomainError: VALIDATION_ERROR with `errors` (`variables.order.total`) where a
 * required variable is missing or of the wrong type, a calculated one fails, a QR code cannot hold its value;
 * ERR_LIMIT_002 (pictures inside the mail), ERR_LIMIT_007 (loop), ERR_LIMIT_009 (components after expansion),
 * RENDERED_BODY_TOO_LARGE, SUBJECT_TOO_LONG, WORK_LIMIT_EXCEEDED. Same input, same output.
 */
export type CompiledEmail = ((input: EmailInput) => RenderedEmail) &
  Readonly<{
    /** The subject, and every refusal of the rendering, without the work that only the result needs. */
    check: (input: EmailInput) => CheckedEmail;
  }>;

/**
 * Content that came with a call in place of a template. `text`: absent: it is made from the HTML. `isFilled`: `{{…}}`
 * are placeholders of variables; absent: they are plain text.
 */
export type InlineContent = Readonly<{ html: string; text?: string; isFilled?: true }>;

export type Renderer = Readonly<{
  /**
   * The compiled revision named by `cacheKey`; what a revision holds never changes, so `load` (which answers a checked
   * template) is called only where it is not in the cache.
   */
  email: (cacheKey: string, load: () => Promise<EmailTemplateContent>) => Promise<CompiledEmail>;
  /** The mails of such content; each input brings the subject. The language is that of the constants. */
  inline: (content: InlineContent, language: CallLanguage | undefined) => CompiledEmail;
  /** Compiles without keeping: for a preview of something unsaved. */
  compileEmail: (content: EmailTemplateContent) => CompiledEmail;
  /**
   * Like `compileEmail`, in turns of the event loop. Rejects if a checked template cannot be compiled. With `marks` the
   * HTML names each component in `data-component`: for the canvas of an editor, never for a mail that is sent.
   */
  compileEmailInTurns: (content: EmailTemplateContent, marks?: boolean) => Promise<CompiledEmail>;
  /**
   * Warnings about what the HTML of a checked template loses: elements, attributes and styles that its mails or
   * documents do not carry.
   */
  dropped: (content: EmailTemplateContent | AttachmentTemplateContent) => readonly FieldError[];
  close: () => Promise<void>;
}>;
