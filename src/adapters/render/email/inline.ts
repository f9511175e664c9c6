/** The pictures that a mail carries inside: collected while it is rendered, each once, named by what it shows. */
import { DomainError } from '../../../domain/core/errors.js';
import type { Limits } from '../../../domain/core/limits.js';
import { assetContentId, type InlineImage } from '../../../domain/ports/renderer.js';
import { tooManyInlineImages } from '../../../domain/rendering/limit-errors.js';
import { spendModules, type Budget } from '../../../domain/rendering/budget.js';
import { qrModules } from '../../../domain/rendering/qr-code.js';
import { drawQrCode, layQrCode, qrContentId, qrLevel, surelyFitsQr, type QrLook } from '../qr-code.js';

export type Inline = InlineImage[];

/** What drawing needs of the call; with `draws` false no picture is made. */
export type CodeWork = Readonly<{ limits: Limits; draws: boolean; budget: Budget }>;

/** Where a code stands in the template, for messages: the id of its component, and the path of the value it shows. */
export type QrOptions = QrLook & Readonly<{ id: string; field: string }>;

/**
 * Adds a QR code and answers its `cid:` address. Throws VALIDATION_ERROR where the value is too much for a code of that
 * look, WORK_LIMIT_EXCEEDED where the codes of the mail are too many and too large, ERR_LIMIT_002 where the mail has too many pictures. With `draws` false the picture itself is not made.
 */
export const addQrCode = (inline: Inline, value: string, options: QrOptions, { limits, draws, budget }: CodeWork): string => {
  const contentId = qrContentId(value, options);
  if (inline.some((image) => image.contentId === contentId)) return `cid:${contentId}`;
  checkCount(inline, limits);
  spendModules(budget, qrModules(value, qrLevel(options.level)));
  let bytes: Uint8Array = NOTHING;
  if (draws || !surelyFitsQr(value, options)) {
    const code = layQrCode(value, options);
    if ('fault' in code) throw unreadable(code.fault, options);
    if (draws) bytes = drawQrCode(code, options);
  }
  inline.push({ contentId, contentType: 'image/png', bytes });
  return `cid:${contentId}`;
};

const NOTHING = new Uint8Array(0);

/** In: `asset:` and an id. Adds the picture of the gallery and answers its `cid:` address. */
export const addAsset = (inline: Inline, address: string, limits: Limits): string => {
  const assetId = address.slice('asset:'.length);
  const contentId = assetContentId(assetId);
  if (!inline.some((image) => image.contentId === contentId)) {
    checkCount(inline, limits);
    inline.push({ contentId, assetId });
  }
  return `cid:${contentId}`;
};

export const checkCount = ({ length }: Inline, { inlineImagesMax }: Limits): void => {
  if (length >= inlineImagesMax) throw tooManyInlineImages(length + 1, inlineImagesMax);
};

const unreadable = (fault: string, { id, field }: QrOptions): DomainError =>
  new DomainError('VALIDATION_ERROR', `the QR code "${id}" ${fault}`, { errors: [{ field, message: `${fault} (the QR code "${id}")` }] });
