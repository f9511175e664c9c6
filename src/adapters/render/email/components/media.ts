/** Button and image. */
import { type ComponentRenderer, type Context, parseRichText, htmlOf, templated, textOf } from '../values.js';
import { concat, js, literalOf, type Term } from '../code.js';
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
} from '../style.js';
import { imageOf, imageSizeOf, linkOf } from '../urls.js';
import { alignAttribute, gap, propsOf } from './blocks.js';

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
    '<tr><td',
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
  code.html(';mso-padding-alt:', padding, '"><a', classAttribute(colorClass('text', color, label)), ' href="', linkOf(href, context));
  code.html('" style="display:', full ? 'block' : 'inline-block', ';padding:', padding, ';mso-padding-alt:0;border-radius:', radius);
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
  code.html('<tr><td', ...alignAttribute(align, context), ' style="padding:', padding, '">');
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
  code.html(...imageSizeOf(src, { width: attributeOf(width), height: attributeOf(height) }, context), ' style="display:block;border:0;');
  code.html(...sizeDeclarations(width, height));
  if (props['borderRadius'] !== undefined) code.html(';border-radius:', css('length', props['borderRadius'], '0', context));
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
