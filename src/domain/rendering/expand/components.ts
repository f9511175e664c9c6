/**
 * Compiles the components of a document that hold no others: texts, lists, pictures, codes, lines and gaps; and the
 * props that they share with other components.
 */
import type { DocumentComponent } from '../content.js';
import type { Expanded, HorizontalAlign, TextStyle } from './expanded.js';
import {
  type Scope,
  type State,
  compileRead,
  rootShape,
  type Source,
  charge,
  compileSource,
  countImages,
} from '../scope/scope.js';
import { type Json, type JsonObject, isJsonObject } from '../../core/json.js';
import { cssColor, cssFontFamily } from '../css.js';
import {
  type Border,
  type Box,
  type Width,
  borderOf,
  boxOf,
  lineHeightOf,
  noBorder,
  noBox,
  pointsOf,
  widthOf,
} from '../lengths.js';
import {
  compileKind,
  compileHtml,
  type Fill,
  compileJson,
  compileRaw,
  compileAddress,
  compilePlain,
  templated,
} from '../fill/compile.js';
import { directions, textDirections } from '../direction.js';
import { aligns, errorCorrections } from '../props.js';
import { isBlank } from '../fill/shown-value.js';
import { decidingPaths, pathsInTexts } from '../paths/walk.js';
import { optionalLinesOf, type OptionalHtml } from '../rich-text.js';
import { type Path, shorten } from '../scope/path.js';
import { shapeAt } from '../scope/shapes.js';
import { invalidAt, type DomainError } from '../../core/errors.js';
import { codeContent, codeKindOf, isBarKind, type EpcFields, fitsQrCode } from '../codes.js';
import { safeDocumentImage, safeLink } from '../addresses.js';

/** Adds to a document what is left of a component once its variables are in place. */
export type Expander = (state: State, out: Expanded[]) => void;

/** `field` is the component's place in the template. */
export type CompileComponent = (component: DocumentComponent, field: string, scope: Scope) => Expander;

export const richText: CompileComponent = ({ id, content = '', props = {} }, field, outer) => {
  const scope = inDirection(props, outer);
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

/** A list without items is left out. */
export const list: CompileComponent = ({ id, content = '', props = {} }, field, outer) => {
  const scope = inDirection(props, outer);
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
      out.push({
        type: 'list',
        id,
        field,
        items,
        html: undefined,
        ordered,
        style: style(state),
        padding: padding(state),
      });
  };
};

/**
 * A picture without an address is left out; one whose address may not be followed stops the document, for nobody would
 * see that it is missing.
 */
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
        href: href === undefined ? undefined : linkOf(href(state), state),
      }),
    });
  };
};

const linkOf = (address: string, state: State): string | undefined => {
  const safe = safeLink(address);
  if (safe === undefined) state.lost = true;
  return safe;
};

/**
 * The address, judged; undefined where there is none. A picture within its address may be megabytes long: one that
 * comes whole from a variable is judged once however often it is shown, one that is put together anew counts as text.
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

const QR_POINTS = 96;

/** A code that says nothing is left out, and so is each code of a workbook: what is stored is not checked again. */
export const qrCode: CompileComponent = ({ id, props = {} }, field, scope) =>
  codeAt(props, { id, field, props: `${field}.props` }, scope);

/** `props`: the place of the props, for messages. */
type CodePlace = Readonly<{ id: string; field: string; props: string }>;

/**
 * Compiles a code whose props stand in a component or in the margin of a page. The content of a code is computed here;
 * an output only draws it.
 */
export const codeAt = (props: JsonObject, place: CodePlace, scope: Scope): Expander => {
  const { id, field } = place;
  const kind = codeKindOf(props['kind']);
  const value = compileText(props['value'], scope);
  const payment = compilePayment(props, scope);
  const [size, height] = [compilePoints(props['size'], scope), compilePoints(props['height'], scope)];
  const errorCorrection = compileWord(props['errorCorrection'], errorCorrections, scope);
  const [color, backgroundColor] = [colorOf(props['color'], scope), colorOf(props['backgroundColor'], scope)];
  const align = compileWord(props['align'], aligns, scope);
  const [gs1, showText] = [props['gs1'] === true, props['showText'] !== false];
  return (state, out) => {
    if (state.format !== 'pdf') return;
    const content = codeContent(kind, gs1, value(state), () => payment(state));
    if (content === undefined) return;
    if ('fault' in content) throw invalidAt(`${place.props}.${content.prop}`, content.fault);
    const level = kind === 'epc' ? 'M' : (errorCorrection(state) ?? 'M');
    if (!isBarKind(kind)) fitsQrCode(content.text, level, field);
    out.push({
      type: 'qr-code',
      id,
      field,
      value: content.text,
      size: size(state) || (isBarKind(kind) ? undefined : QR_POINTS),
      errorCorrection: level,
      color: color(state) ?? '#000000',
      backgroundColor: backgroundColor(state) ?? '#ffffff',
      align: align(state),
      ...defined({
        alt: content.alt,
        bars: isBarKind(kind) ? { kind, height: height(state) || undefined, showText, gs1 } : undefined,
      }),
    });
  };
};

type TextOf = (state: State) => string;

const compileText = (text: Json | undefined, scope: Scope): TextOf => {
  const fill = compileRaw(typeof text === 'string' ? text : '', scope);
  return (state) => charge(fill(state), state, scope.limits);
};

/** The amount stays a value: once written with a currency or grouped digits it is no number any more. */
const compilePayment = (props: JsonObject, scope: Scope): ((state: State) => EpcFields) => {
  const text = (name: keyof EpcFields): TextOf => compileText(props[name], scope);
  const [name, iban, bic, purpose, reference, message] = [
    text('name'),
    text('iban'),
    text('bic'),
    text('purpose'),
    text('reference'),
    text('text'),
  ];
  const amount = compileJson(typeof props['amount'] === 'string' ? props['amount'].trim() : props['amount'], scope);
  return (state) => ({
    name: name(state),
    iban: iban(state),
    bic: bic(state),
    amount: amount(state),
    purpose: purpose(state),
    reference: reference(state),
    text: message(state),
  });
};

type Maker<T> = (state: State) => T;

/** Size of 1 em where the author gives no font size, as in CSS. */
const FONT_SIZE_POINTS = 12;

/** Leaves out members that are undefined: an optional prop is absent, not empty. */
export const defined = <T extends object>(object: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };

export const colorOf = (value: Json | undefined, scope: Scope): Maker<string | undefined> =>
  compileKind(value, cssColor, scope);

export const compilePoints = (value: Json | undefined, scope: Scope): Maker<number | undefined> =>
  compileKind(value, pointsOf, scope);

export const compileWidth = (value: Json | undefined, scope: Scope): Maker<Exclude<Width, string> | undefined> =>
  compileKind(value, widthOf, scope);

export const compileBox = (value: Json | undefined, scope: Scope, fallback: Box = noBox): Maker<Box> => {
  const box = compileKind(value, boxOf, scope);
  return (state) => box(state) ?? fallback;
};

export const compileBorder = (value: Json | undefined, scope: Scope, fallback: Border = noBorder): Maker<Border> => {
  const border = compileKind(value, borderOf, scope);
  return (state) => border(state) ?? fallback;
};

/** A word out of a few, in any case; undefined where there is another. */
export const compileWord = <Word extends string>(
  value: Json | undefined,
  words: readonly Word[],
  scope: Scope,
): Maker<Word | undefined> =>
  compileKind(
    value,
    (given) =>
      typeof given === 'string' ? words.find((word) => word.toLowerCase() === given.trim().toLowerCase()) : undefined,
    scope,
  );

export const compileAlign = (
  value: Json | undefined,
  scope: Scope,
  fallback: HorizontalAlign = 'start',
): Maker<HorizontalAlign> => {
  const align = compileWord(value, aligns, scope);
  return (state) => align(state) ?? fallback;
};

/** The scope in the direction that the props name. */
const inDirection = (props: JsonObject, scope: Scope): Scope => {
  const direction = directions.find((known) => known === props['direction']);
  return direction === undefined ? scope : { ...scope, direction };
};

/** How the props of a block of text or of a section show its letters; nothing is inherited here. */
export const compileTextStyle = (props: JsonObject, scope: Scope): Maker<TextStyle> => {
  const align = compileWord(props['align'], aligns, scope);
  const direction = compileWord(props['direction'], textDirections, scope);
  const color = colorOf(props['color'], scope);
  const fontSize = compilePoints(props['fontSize'], scope);
  const fontFamily = compileKind(props['fontFamily'], cssFontFamily, scope);
  const backgroundColor = colorOf(props['backgroundColor'], scope);
  const lineHeight = compileKind(
    props['lineHeight'],
    (value) => ({ of: (points: number) => lineHeightOf(value, points) }),
    scope,
  );
  return (state) => {
    const points = fontSize(state);
    const size = points === undefined || points === 0 ? FONT_SIZE_POINTS : points;
    return defined({
      align: align(state),
      direction: direction(state),
      color: color(state),
      fontSize: points,
      fontFamily: fontFamily(state),
      lineHeight: lineHeight(state)?.of(size),
      backgroundColor: backgroundColor(state),
    });
  };
};

type IsHidden = (state: State) => boolean;

/** True where all of the paths are blank; undefined where that can never be. */
const compileBlank = (paths: readonly Path[], scope: Scope): IsHidden | undefined => {
  if (paths.length === 0) return undefined;
  if (paths.some((path) => shapeAt(rootShape(path, scope), path)?.substitution?.fallback !== undefined))
    return undefined;
  const reads = paths.map((path) => compileRead(path, scope));
  return (state) => reads.every((read) => isBlank(read(state)));
};

/** In: a component. Out: whether it is hidden; undefined where it is always shown. */
export const compileIsHidden = (component: DocumentComponent, scope: Scope): IsHidden | undefined => {
  const hides = component.props?.['hideWhenEmpty'];
  return hides === true || hides === 'lines'
    ? compileBlank(decidingPaths(component, scope.limits.pathSegmentsMax), scope)
    : undefined;
};

/** HTML as `compileHtml` fills it, without the lines in which every value is blank. */
const compileLines = (html: string, scope: Scope): Fill =>
  filled(optionalLinesOf(html, scope.limits.pathSegmentsMax).map((part) => compilePart(part, scope)));

const filled =
  (fills: readonly Fill[]): Fill =>
  (state) =>
    fills.map((fill) => fill(state)).join('');

const compilePart = (part: OptionalHtml, scope: Scope): Fill => {
  if (typeof part === 'string') return compileHtml(part, scope);
  const blank = part.when.flatMap((group) => compileBlank(group, scope) ?? []);
  const fill = filled([part.open, ...part.children, part.close].map((inner) => compilePart(inner, scope)));
  return (state) => (blank.some((isHidden) => isHidden(state)) ? '' : fill(state));
};

/**
 * Answers which columns of a table are left out, by their places: those whose values are blank in every row, where
 * there are rows.
 */
export const compileHiddenColumns = (
  props: JsonObject,
  source: Source,
  segmentsMax: number,
): ((state: State) => ReadonlySet<number>) | undefined => {
  const given = Array.isArray(props['columns']) ? (props['columns'] as readonly Json[]) : [];
  const columns = given.flatMap((column, at) => {
    if (!isJsonObject(column) || column['hideWhenEmpty'] !== true) return [];
    const isHidden = compileBlank(pathsInTexts(column['content'], segmentsMax), source.inside);
    return isHidden === undefined ? [] : [{ at, isHidden }];
  });
  if (columns.length === 0) return undefined;
  return (state) => {
    const items = source.all(state);
    let left = items.length === 0 ? [] : columns;
    for (let at = 0; at < items.length && left.length > 0; at += 1) {
      source.enter(state, items[at] ?? null, at);
      left = left.filter(({ isHidden }) => isHidden(state));
    }
    return new Set(left.map(({ at }) => at));
  };
};
