/** Components of a document that stand for themselves: texts, lists, pictures, lines and room. */
import { invalidAt, type DomainError } from '../../core/errors.js';
import { safeDocumentImage, safeLink } from '../urls.js';
import { colorOf, compileBox, compilePoints, compileTextStyle, compileWidth, compileWord, defined } from './style.js';
import type { CompileComponent } from './expander.js';
import { compileLines } from './hiding.js';
import { compileAddress, compileHtml, compileJson, compilePlain, templated } from '../fill/filling.js';
import { shorten } from '../scope/path.js';
import { aligns } from '../props.js';
import { charge, compileSource, countImages, type Scope, type State } from '../scope/scope.js';

export const richText: CompileComponent = ({ id, content = '', props = {} }, field, scope) => {
  const html = props['hideWhenEmpty'] === 'lines' ? compileLines(content, scope) : compileHtml(content, scope);
  const style = compileTextStyle(props, scope);
  const padding = compileBox(props['padding'], scope);
  return (state, out) => {
    out.push({
      type: 'rich-text',
      id,
      field,
      html: charge(html(state), state, scope.limits),
      style: style(state),
      padding: padding(state),
    });
  };
};

/** A list without items is not there. */
export const list: CompileComponent = ({ id, content = '', props = {} }, field, scope) => {
  const { limits } = scope;
  const style = compileTextStyle(props, scope);
  const padding = compileBox(props['padding'], scope);
  const ordered = props['ordered'] === true;
  if (props['dataSource'] === undefined) {
    const html = props['hideWhenEmpty'] === 'lines' ? compileLines(content, scope) : compileHtml(content, scope);
    return (state, out) => {
      out.push({
        type: 'list',
        id,
        field,
        items: undefined,
        html: charge(html(state), state, limits),
        ordered,
        style: style(state),
        padding: padding(state),
      });
    };
  }
  const source = compileSource(props, scope);
  const itemHtml = compileHtml(content, source.inside);
  return (state, out) => {
    const items = source.items(state).map((item, at) => {
      source.enter(state, item, at);
      return charge(itemHtml(state), state, limits);
    });
    if (items.length > 0)
      out.push({ type: 'list', id, field, items, html: undefined, ordered, style: style(state), padding: padding(state) });
  };
};

/** A picture without an address is not there; one whose address may not be followed stops the document, for nobody would see that it is missing. */
export const image: CompileComponent = ({ id, props = {} }, field, scope) => {
  const { limits } = scope;
  const src = compileSrc(String(props['src']), `${field}.props.src`, scope);
  const href = typeof props['href'] === 'string' ? compileAddress(props['href'], 'link', scope) : undefined;
  const alt = compilePlain(typeof props['alt'] === 'string' ? props['alt'] : '', scope);
  const [width, height, borderRadius] = [
    compileWidth(props['width'], scope),
    compilePoints(props['height'], scope),
    compilePoints(props['borderRadius'], scope),
  ];
  const align = compileWord(props['align'], aligns, scope);
  const padding = compileBox(props['padding'], scope);
  return (state, out) => {
    const address = src(state);
    if (address === undefined) return;
    countImages(1, state, limits);
    const size = width(state);
    const points = size !== undefined && 'points' in size ? size.points : undefined;
    const percent = size !== undefined && 'percent' in size ? size.percent : undefined;
    out.push({
      type: 'image',
      id,
      field,
      src: address,
      alt: charge(alt(state), state, limits),
      align: align(state),
      padding: padding(state),
      ...defined({
        width: points || undefined,
        widthPercent: percent || undefined,
        height: height(state) || undefined,
        borderRadius: borderRadius(state),
        href: href === undefined ? undefined : safeLink(href(state)),
      }),
    });
  };
};

/**
 * The address, judged; undefined where there is none. A picture within its address may be megabytes long: one that comes whole from a
 * variable is judged once however often it is shown, one that is put together anew counts as text.
 */
export const compileSrc = (text: string, at: string, scope: Scope): ((state: State) => string | undefined) => {
  const fill = compileAddress(text, 'image', scope);
  const parts = templated(text, scope);
  const whole = parts.length > 1 ? undefined : compileJson(text, scope);
  const judge = (state: State): string | undefined => {
    const address = fill(state);
    if (whole === undefined) charge(address, state, scope.limits);
    const safe = safeDocumentImage(address);
    if (safe === undefined && address.trim() !== '') throw refusedAddress(at, address);
    return safe;
  };
  return (state) => {
    const value = whole?.(state);
    if (typeof value !== 'string') return judge(state);
    if (!state.judged.has(value)) state.judged.set(value, judge(state));
    return state.judged.get(value);
  };
};

const refusedAddress = (at: string, address: string): DomainError => {
  const message = `must be the address of a picture (https://, http://, asset: and the id of an asset, or a data URI of a PNG, JPEG, GIF, WebP or SVG), got "${shorten(address, 40)}"`;
  return invalidAt(at, message);
};

export const divider: CompileComponent = ({ id, props = {} }, field, scope) => {
  const color = colorOf(props['color'], scope);
  const thickness = compilePoints(props['thickness'], scope);
  const style = compileWord(props['style'], ['solid', 'dashed', 'dotted'], scope);
  const width = compileWidth(props['width'], scope);
  const margin = compileBox(props['margin'], scope, { top: 6, right: 0, bottom: 6, left: 0 });
  return (state, out) => {
    out.push({
      type: 'divider',
      id,
      field,
      color: color(state) ?? '#e5e7eb',
      thickness: thickness(state) ?? 0.75,
      style: style(state) ?? 'solid',
      width: width(state) ?? { percent: 100 },
      margin: margin(state),
    });
  };
};

const SPACER_POINTS = 18;

export const spacer: CompileComponent = ({ id, props = {} }, field, scope) => {
  const height = compilePoints(props['height'], scope);
  return (state, out) => {
    out.push({ type: 'spacer', id, field, height: height(state) ?? SPACER_POINTS });
  };
};
