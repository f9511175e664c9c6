/** Bar codes and payment codes inside a mail: made from what the call brings, collected with the other pictures. */
import { createHash } from 'node:crypto';
import { spendModules } from '../../../domain/rendering/budget.js';
import { DomainError } from '../../../domain/core/errors.js';
import { barModules, codeContent, codeKindOf, isBarKind, type BarKind } from '../../../domain/rendering/codes.js';
import { pixels } from '../../../domain/rendering/css.js';
import type { EpcFields } from '../../../domain/rendering/epc.js';
import { barCodePng, layBarPicture, pixelDefaults, type BarWish } from '../bar-code.js';
import { qrSizePx } from '../qr-code.js';
import { addQrCode, checkCount, type CodeWork, type Inline, type QrOptions } from './inline.js';

/** Either the value of a bar code, or the fields of a payment. */
export type CodeFields = Readonly<{ value: string } | EpcFields>;
/** `fields` tells by the name of a prop where its value came from, for messages. */
export type CodeOptions = Omit<QrOptions, 'field' | 'level'> &
  Readonly<{
    kind: string;
    height: string;
    /** Pixels that the component has from side to side. */ room: number;
    showText: boolean;
    gs1: boolean;
    fields: Readonly<Record<string, string>>;
  }>;
/** What the HTML needs of a picture: whole pixels of CSS, the alternative text, and what the text part says. */
export type ShownCode = Readonly<{ src: string; width: string; height: string; alt: string; text: string }>;

/** Undefined: the code says nothing. Throws VALIDATION_ERROR where it cannot be made, else as `addQrCode`. */
export const addCode = (inline: Inline, fields: CodeFields, options: CodeOptions, work: CodeWork): ShownCode | undefined => {
  const kind = codeKindOf(options.kind);
  const value = 'value' in fields ? fields.value : '';
  const content = codeContent(kind, options.gs1, value, () => {
    if ('value' in fields) throw new Error('a payment was compiled without its fields');
    return fields;
  });
  if (content === undefined) return undefined;
  if ('fault' in content) throw refused(content.fault, content.prop, options);
  const { text, alt = text } = content;
  if (isBarKind(kind)) return addBars(inline, text, kind, options, work);
  const size = String(qrSizePx(options.size));
  const src = addQrCode(inline, text, { ...options, level: 'M', field: options.fields['iban'] ?? 'schema' }, work);
  return { src, width: size, height: size, alt, text: alt };
};

const addBars = (inline: Inline, text: string, kind: BarKind, options: CodeOptions, { limits, draws, budget }: CodeWork): ShownCode => {
  const { showText, gs1, color, background } = options;
  const [width, height] = [lengthOf(options.size), lengthOf(options.height)];
  const wish: BarWish = { kind, showText, gs1, color, background, width, height, room: options.room };
  spendModules(budget, barModules(kind, text));
  const laid = layBarPicture(text, wish, pixelDefaults);
  if ('fault' in laid) throw refused(laid.fault, 'value', options);
  const contentId = `${kind}-${createHash('sha256')
    .update(JSON.stringify([text, wish]))
    .digest('hex')
    .slice(0, 24)}@sealpost`;
  if (!inline.some((image) => image.contentId === contentId)) {
    checkCount(inline, limits);
    inline.push({ contentId, contentType: 'image/png', bytes: draws ? barCodePng(laid, wish, pixelDefaults) : NOTHING });
  }
  const px = (length: number): string => String(Math.round(length));
  return { src: `cid:${contentId}`, width: px(laid.width), height: px(laid.height), alt: text, text };
};

const NOTHING = new Uint8Array(0);

/** Percentages and fonts mean nothing to a picture that is drawn before the page. */
const lengthOf = (css: string): number | undefined => pixels(css) || undefined;

const refused = (fault: string, prop: string, { id, fields }: CodeOptions): DomainError => {
  const field = fields[prop] ?? 'schema';
  return new DomainError('VALIDATION_ERROR', `the code "${id}": ${prop} ${fault}`, {
    errors: [{ field, message: `${fault} (${prop} of the code "${id}")` }],
  });
};
