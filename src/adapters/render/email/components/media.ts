/** Button, image and codes. */
import {
  type ComponentRenderer,
  type Context,
  parseRichText,
  htmlOf,
  templated,
  textOf,
  jsonOf,
  plainOf,
  rawTermsOf,
} from '../values.js';
import { concat, js, literalOf, type Term, INLINE, quote } from '../code.js';
import { inlineText, linkText, writeLine } from '../rich-text.js';
import { richHtml } from '../rich-html.js';
import {
  aligned,
  attributePx,
  attributeSafe,
  classAttribute,
  color as colorOf,
  colorClass,
  css,
  inColor,
  inLinkColor,
  readable,
  surfaceOf,
  word,
} from '../style.js';
import { imageOf, imageSizeOf, linkOf } from '../urls.js';
import { alignAttribute, gap, propsOf } from './blocks.js';
import type { Json, JsonObject } from '../../../../domain/core/json.js';
import { codeKindOf, epcProps } from '../../../../domain/rendering/codes.js';
import { hasPlaceholder, type TemplatedText } from '../../../../domain/rendering/fill/templated-text.js';
import { variableField, writePath } from '../../../../domain/rendering/scope/path.js';
import { DomainError } from '../../../../domain/core/errors.js';
import { escapeHtml } from '../escape.js';
import type { QrOptions } from '../runtime.js';
import { errorCorrections, layQrCode, qrAlt, qrSizePx, surelyFitsQr } from '../../qr-code.js';

/** A link that looks like a button everywhere: Outlook takes the padding of the cell, the others that of the link. */
export const button: ComponentRenderer = (component, context) => {
  const props = propsOf(component);
  const { code, type } = context;
  const background = colorOf(props['backgroundColor'], context.accent, context);
  // The button looks alike in both modes, unless what is behind it shows.
  const on: Context = { ...context, surface: surfaceOf(background, context, 'fixed') };
  const color = colorOf(props['color'], readable(['#ffffff', '#111827'], on), on);
  const padding = css('box', props['padding'], '13px 26px', context);
  const radius = css('length', props['borderRadius'], '6px', context);
  const border = props['border'] === undefined ? undefined : css('border', props['border'], 'none', context);
  const full = props['fullWidth'] === true;
  const align = aligned(props, type.align, context);
  const font = attributeSafe(
    props['fontFamily'] === undefined ? type.fontFamily : css('fontFamily', props['fontFamily'], 'sans-serif', context),
  );
  const fontSize = css('length', props['fontSize'], '16px', context);
  const href = templated(String(props['href']), context);
  const nodes = parseRichText(component.content ?? '', 'inline', context);
  const named = { ...on, type: inColor(color, on) };
  const label: Context = { ...named, type: inLinkColor(color, named) };
  code.html(
    `<tr${context.mark}><td`,
    ...alignAttribute(align, context),
    ` style="padding:${gap(context)}"><table role="presentation" cellpadding="0" cellspacing="0" border="0"`,
  );
  code.html(
    full ? ' width="100%"' : '',
    ' style="border-collapse:separate"><tr><td align="center" style="border-radius:',
    radius,
    ';background-color:',
    background,
  );
  if (border !== undefined) code.html(';border:', border);
  code.html(
    ';mso-padding-alt:',
    padding,
    '"><a',
    classAttribute(colorClass('text', color, label)),
    ' href="',
    linkOf(href, context),
  );
  code.html(
    '" style="display:',
    full ? 'block' : 'inline-block',
    ';padding:',
    padding,
    ';mso-padding-alt:0;border-radius:',
    radius,
  );
  code.html(
    ';font-family:',
    font,
    ';font-size:',
    fontSize,
    ';line-height:1.25;font-weight:600;color:',
    color,
    ';text-decoration:none;text-align:center">',
  );
  code.html(richHtml(nodes, label), '</a></td></tr></table></td></tr>');
  writeLine(linkText(inlineText(nodes, context), href, context), context);
};

export const image: ComponentRenderer = (component, context) => {
  const props = propsOf(component);
  const { code, type } = context;
  const width = props['width'] === undefined ? undefined : css('length', props['width'], '100%', context);
  const height = props['height'] === undefined ? undefined : css('length', props['height'], 'auto', context);
  const align = aligned(props, type.align, context);
  const padding = css('box', props['padding'], gap(context), context);
  const src = templated(String(props['src']), context);
  const alt = templated(typeof props['alt'] === 'string' ? props['alt'] : '', context);
  const href = typeof props['href'] === 'string' ? templated(props['href'], context) : undefined;
  code.html(`<tr${context.mark}><td`, ...alignAttribute(align, context), ' style="padding:', padding, '">');
  if (href !== undefined) code.html('<a href="', linkOf(href, context), '">');
  code.html(
    '<img',
    classAttribute(colorClass('text', type.color, context)),
    ' src="',
    ...imageOf(src, context),
    '" alt="',
    ...htmlOf(alt, context),
    '"',
  );
  code.html(
    ...imageSizeOf(src, { width: attributeOf(width), height: attributeOf(height) }, context),
    ' style="display:block;border:0;',
  );
  code.html(...sizeDeclarations(width, height));
  if (props['borderRadius'] !== undefined)
    code.html(';border-radius:', css('length', props['borderRadius'], '0', context));
  code.html(';font-family:', attributeSafe(type.fontFamily), ';font-size:14px;color:', type.color, '">');
  code.html(href === undefined ? '' : '</a>', '</td></tr>');
  const shown = textOf(alt, context);
  const literal = literalOf(shown);
  if (href !== undefined) writeLine(linkText(shown, href, context), context);
  else if (literal === undefined) writeLine([js(`BRACKETED(${concat(shown)})`)], context);
  else if (literal !== '') writeLine([`[${literal}]`], context);
};

/** A length as an attribute takes it, '' where there is none. */
const attributeOf = (length: Term | undefined): Term => {
  const px = length === undefined ? undefined : attributePx(length);
  return px ?? (typeof length === 'string' && length.endsWith('%') ? length : '');
};

/** A picture is never wider than its place, and keeps its proportions when it shrinks. */
const sizeDeclarations = (width: Term | undefined, height: Term | undefined): readonly Term[] => {
  if (width !== undefined) return ['width:100%;max-width:', width, ';height:auto'];
  return height === undefined ? ['max-width:100%;height:auto'] : ['max-width:100%;width:auto;height:', height];
};

// QR codes, bar codes and payment codes of a mail: pictures inside it, because no client shows data URIs and vectors
// everywhere. The text part has their values.

type Shown = Readonly<{
  value: TemplatedText;
  literal: string | undefined;
  /** Gives the whole value. */ expression: string;
  options: OptionTerms;
}>;
type OptionTerms = Readonly<{ [Name in keyof QrOptions]: Term }>;

export const qrCode: ComponentRenderer = (component, context) => {
  const props = propsOf(component);
  if (codeKindOf(props['kind']) !== 'qr') return barCode(props, component.id, context);
  const { code } = context;
  const value = templated(String(props['value']), context);
  const literal = literalOf(rawTermsOf(value, context));
  if (literal === '') return;
  const options = qrOptions(props, component.id, value, context);
  if (literal !== undefined) {
    checkLiteral(literal, options, context);
    return draw(props, { value, literal, expression: quote(literal), options }, context);
  }
  const expression = code.remember(plainOf(value, context));
  code.block(`if(${expression}!=="")`, () => draw(props, { value, literal, expression, options }, context));
};

const qrOptions = (props: JsonObject, id: string, value: TemplatedText, context: Context): OptionTerms => {
  const first = value.find((part) => typeof part !== 'string');
  return {
    size: css('length', props['size'], '160px', context),
    level: word(lowerCased(props['errorCorrection']), errorCorrections, 'm', context),
    color: css('color', props['color'], '#000000', context),
    background: css('color', props['backgroundColor'], '#ffffff', context),
    id,
    field: first === undefined || typeof first === 'string' ? 'schema' : variableField(writePath(first.path)),
  };
};

/** Lower case for a literal; a placeholder keeps the case of its variable. */
const lowerCased = (value: Json | undefined): Json | undefined =>
  typeof value === 'string' && !hasPlaceholder(value) ? value.toLowerCase() : value;

const draw = (props: JsonObject, { value, literal, expression, options }: Shown, context: Context): void => {
  const { code, type } = context;
  const size =
    typeof options.size === 'string'
      ? String(qrSizePx(options.size))
      : js(code.remember(`QR_SIZE(${options.size.js})`));
  const members = Object.entries(options).map(
    ([name, term]) => `${name}:${typeof term === 'string' ? quote(term) : term.js}`,
  );
  const look = `{${members.join(',')}}`;
  const source = `QR(${expression},${INLINE},${Object.values(options).every((term) => typeof term === 'string') ? code.constant(look) : look})`;
  const alt = literal === undefined ? js(`E(QR_ALT(${expression}))`) : escapeHtml(qrAlt(literal));
  code.html(
    `<tr${context.mark}><td`,
    ...alignAttribute(aligned(props, type.align, context), context),
    ` style="padding:${gap(context)}">`,
  );
  code.html(
    '<img',
    classAttribute(colorClass('text', type.color, context)),
    ' src="',
    js(source),
    '" alt="',
    alt,
    '" width="',
    size,
    '" height="',
    size,
  );
  code.html(
    '" style="display:block;border:0;width:',
    size,
    'px;max-width:100%;height:auto;font-family:',
    attributeSafe(type.fontFamily),
    ';font-size:14px;color:',
    type.color,
    '"></td></tr>',
  );
  writeLine(rawTermsOf(value, context), context);
};

/** Refuses a literal value that does not fit when the template is saved, not when a mail is sent. */
const checkLiteral = (
  value: string,
  { size, level, color, background, id }: OptionTerms,
  { checkedCodes }: Context,
): void => {
  if (
    typeof size !== 'string' ||
    typeof level !== 'string' ||
    typeof color !== 'string' ||
    typeof background !== 'string'
  )
    return;
  const key = `${size} ${level} ${value}`;
  if (checkedCodes.has(key) || surelyFitsQr(value, { size, level, color, background })) return;
  checkedCodes.add(key);
  const code = layQrCode(value, { size, level, color, background });
  if (!('fault' in code)) return;
  const message = `the QR code "${String(id)}" ${code.fault}`;
  throw new DomainError('TEMPLATE_INVALID', `the template is not valid: ${message}`, {
    errors: [{ field: 'schema', message }],
  });
};

const barCode = (props: JsonObject, id: string, context: Context): void => {
  const { code, type } = context;
  const shown = code.remember(`CODE(${fieldsOf(props, context)},${INLINE},${barCodeOptions(props, id, context)})`);
  const of = (member: string): Term => js(`${shown}.${member}`);
  code.block(`if(${shown}!==void 0)`, () => {
    code.html(
      `<tr${context.mark}><td`,
      ...alignAttribute(aligned(props, type.align, context), context),
      ` style="padding:${gap(context)}">`,
    );
    code.html(
      '<img',
      classAttribute(colorClass('text', type.color, context)),
      ' src="',
      of('src'),
      '" alt="',
      js(`E(${shown}.alt)`),
    );
    code.html(
      '" width="',
      of('width'),
      '" height="',
      of('height'),
      '" style="display:block;border:0;width:',
      of('width'),
    );
    code.html(
      'px;max-width:100%;height:auto;font-family:',
      attributeSafe(type.fontFamily),
      ';font-size:14px;color:',
      type.color,
    );
    code.html('"></td></tr>');
    writeLine([js(`T(${shown}.text)`)], context);
  });
};

const members = (entries: readonly (readonly [string, string])[]): string =>
  `{${entries.map(([name, expression]) => `${name}:${expression}`).join(',')}}`;

/**
 * The amount of a payment is the value itself: one that is written with a currency or grouped digits is no number any
 * more.
 */
const fieldsOf = (props: JsonObject, context: Context): string => {
  const text = (value: Json | undefined): string =>
    typeof value === 'string' ? plainOf(templated(value, context), context) : '""';
  if (codeKindOf(props['kind']) !== 'epc') return members([['value', text(props['value'])]]);
  return members(
    epcProps.map((name) => [name, name === 'amount' ? jsonOf(amountOf(props), context) : text(props[name])]),
  );
};

const amountOf = ({ amount }: JsonObject): Json | undefined => (typeof amount === 'string' ? amount.trim() : amount);

const barCodeOptions = (props: JsonObject, id: string, context: Context): string => {
  const looks = [
    ['size', css('length', props['size'], '', context)],
    ['height', css('length', props['height'], '', context)],
    ['color', css('color', props['color'], '#000000', context)],
    ['background', css('color', props['backgroundColor'], '#ffffff', context)],
  ] as const;
  const fields = Object.entries(props).flatMap(([name, value]) => {
    const path = pathIn(value, context);
    return path === undefined ? [] : [[name, quote(path)] as const];
  });
  const written = members([
    ['kind', quote(codeKindOf(props['kind']))],
    ['id', quote(id)],
    ['room', String(context.widthPx)],
    ['showText', String(props['showText'] !== false)],
    ['gs1', String(props['gs1'] === true)],
    ['fields', members(fields)],
    ...looks.map(([name, term]) => [name, typeof term === 'string' ? quote(term) : term.js] as const),
  ]);
  return looks.every(([, term]) => typeof term === 'string') ? context.code.constant(written) : written;
};

/** The first path of a prop, which messages name. */
const pathIn = (value: Json | undefined, context: Context): string | undefined => {
  if (typeof value !== 'string' || !hasPlaceholder(value)) return undefined;
  const first = templated(value, context).find((part) => typeof part !== 'string');
  return first === undefined || typeof first === 'string' ? undefined : variableField(writePath(first.path));
};
