/** Boxes around components: their paddings, borders and widths, and the room that components can take into their own. */
import type { Json } from '../../core/json.js';
import { cssBorder, cssBox, cssLength, pixels } from '../css.js';
import type { Place } from './language.js';
import { backgroundOf, colorIn, type Look, placeOf, px, rounded } from './look.js';
import { holdsMark, type Element, type Styles } from './tree.js';

export type Made = {
  id: string;
  type: string;
  content?: string;
  props?: Record<string, Json>;
  children?: readonly Made[];
  elseChildren?: readonly Made[];
  /** Room above and below in pixels, for components without a padding of their own. */
  room?: Readonly<{ above: number; below: number }>;
  /** A box that is a section of its own where it is as wide as the mail. */
  isBand?: boolean;
};

export type Sides = readonly [top: number, right: number, bottom: number, left: number];

export type Box = Readonly<{
  padding: Sides;
  background: string | undefined;
  border: string | undefined;
  radius: number;
  width: string | undefined;
  /** The side to which a box with a width of its own moves. */
  place?: Look['align'] | undefined;
  at: Place;
}>;

/** Margins and sizes of browsers, in parts of the size of the letters. */
export const USUAL: Readonly<Record<string, Readonly<{ size: number; margin: number }>>> = {
  ...{ h1: { size: 2, margin: 0.67 }, h2: { size: 1.5, margin: 0.83 }, h3: { size: 1.17, margin: 1 } },
  ...{ h4: { size: 1, margin: 1.33 }, h5: { size: 0.83, margin: 1.67 }, h6: { size: 0.67, margin: 2.33 } },
  ...{ p: { size: 1, margin: 1 }, ul: { size: 1, margin: 1 }, ol: { size: 1, margin: 1 }, dl: { size: 1, margin: 1 } },
  ...{ blockquote: { size: 1, margin: 1 }, pre: { size: 1, margin: 1 } },
};

/** A component whose texts stand at the left within a component that aligns them otherwise. */
export const toTheLeft = (one: Made): Made => {
  switch (one.type) {
    case 'rich-text':
    case 'list':
      return one.props?.['align'] === undefined ? { ...one, props: { ...one.props, align: 'left' } } : one;
    case 'html-fragment':
      return { ...one, content: `<div style="text-align:left">${one.content ?? ''}</div>` };
    default:
      return one.props?.['align'] !== undefined
        ? one
        : {
            ...one,
            ...(one.children === undefined ? {} : { children: one.children.map(toTheLeft) }),
            ...(one.elseChildren === undefined ? {} : { elseChildren: one.elseChildren.map(toTheLeft) }),
          };
  }
};

/** A conditional or a loop of sections of one colour is a section of that colour, so that no gap parts them. */
export const bandOfBlock = (all: Made[]): Made[] => {
  const bands = all.flatMap(({ children = [], elseChildren = [] }) => [...children, ...elseChildren]);
  const [color] = bands.map(({ props }) => props?.['backgroundColor']);
  if (
    color === undefined ||
    !bands.every(({ isBand, props }) => isBand === true && props?.['backgroundColor'] === color)
  )
    return all;
  const bare = ({ props: { backgroundColor: _, ...props } = {}, ...one }: Made): Made => ({ ...one, props });
  return all.map((one) => ({
    id: `band-of-${one.id}`,
    type: 'container',
    isBand: true,
    props: { padding: '0', backgroundColor: color },
    children: [
      {
        ...one,
        children: (one.children ?? []).map(bare),
        ...(one.elseChildren === undefined ? {} : { elseChildren: one.elseChildren.map(bare) }),
      },
    ],
  }));
};

export const NO_SIDES: Sides = [0, 0, 0, 0];

export const NO_BOX: Box = {
  padding: NO_SIDES,
  background: undefined,
  border: undefined,
  radius: 0,
  width: undefined,
  at: { line: 1, column: 1 },
};

/** The four sides of `padding` or `margin`, in pixels. */
export const sidesIn = (
  styles: Styles,
  name: 'padding' | 'margin',
  fontSize: number,
  otherwise: Sides = NO_SIDES,
): Sides => {
  let sides: Sides = otherwise;
  for (const [property, value] of styles) {
    if (property === name) {
      const words = value
        .split(/\s+/)
        .slice(0, 4)
        .map((word) => px(word, fontSize));
      const [top = 0, right = top, bottom = top, left = right] = words;
      sides = [top, right, bottom, left];
    }
    const side = ['-top', '-right', '-bottom', '-left'].findIndex((end) => property === name + end);
    if (side >= 0) sides = sides.map((one, at) => (at === side ? px(value, fontSize) : one)) as unknown as Sides;
  }
  return sides;
};

export const marginOf = (node: Element, usual: number): Sides =>
  sidesIn(node.styles, 'margin', 16, [usual, 0, usual, 0]);

export const addedSides = (one: Sides, other: Sides): Sides => [
  one[0] + other[0],
  one[1] + other[1],
  one[2] + other[2],
  one[3] + other[3],
];

export const sidesOf = (box: Json | undefined): Sides => {
  const css = cssBox(box);
  if (css === undefined) return NO_SIDES;
  const [top = 0, right = top, bottom = top, left = right] = css.split(' ').map((side) => px(side));
  return [top, right, bottom, left];
};

export const boxText = (sides: Sides): string => {
  const [top, right, bottom, left] = sides.map((side) => (rounded(side) === 0 ? '0' : `${rounded(side)}px`));
  if (top === right && right === bottom && bottom === left) return top!;
  if (top === bottom && left === right) return `${top} ${right}`;
  return `${top} ${right} ${bottom} ${left}`;
};

/** A length of a picture: pixels as a number, a share as text. */
export const lengthOf = (value: string | undefined, mayBeShare: boolean): number | string | undefined => {
  if (value === undefined || holdsMark(value)) return undefined;
  const css = cssLength(value);
  if (css === undefined || css === '0') return undefined;
  return pixels(css) ?? (mayBeShare && css.endsWith('%') ? css : undefined);
};

export const heightOf = (node: Element): number | undefined => {
  const { styles, attributes } = node;
  const height = px(styles.get('height') ?? attributes.get('height'));
  const sides = sidesIn(styles, 'padding', 16);
  const line = /[^\s]/.test(textIn(node)) ? px(styles.get('line-height')) : 0;
  return Math.max(height, line) + sides[0] + sides[2] || undefined;
};

const textIn = (node: Element): string =>
  node.children.map((child) => (child.kind === 'text' ? child.text : '')).join('');

export const withMargins = (box: Box, node: Element, { look }: Readonly<{ look: Look }>): Box => {
  const usual = (Object.hasOwn(USUAL, node.tag) ? (USUAL[node.tag]?.margin ?? 0) : 0) * look.fontSize;
  return {
    ...box,
    padding: addedSides(box.padding, sidesIn(node.styles, 'margin', look.fontSize, [usual, 0, usual, 0])),
  };
};

export const boxOf = ({ styles, attributes, at, tag }: Element, { look }: Readonly<{ look: Look }>): Box => {
  const border = cssBorder(styles.get('border') ?? '');
  const written = styles.get('max-width') ?? styles.get('width') ?? attributes.get('width');
  const width = written === undefined || holdsMark(written) || tag === 'a' ? undefined : cssLength(written);
  return {
    padding: sidesIn(styles, 'padding', look.fontSize),
    background: backgroundOf(styles) ?? colorIn(attributes.get('bgcolor')),
    border:
      styles.has('border') && border !== undefined && border !== 'none' && !/^0/.test(border) && !/ none /.test(border)
        ? border
        : undefined,
    radius: px(styles.get('border-radius')),
    width: tag === 'td' || width === undefined || width === '0' ? undefined : width,
    place: placeOf(styles) ?? look.boxes,
    at,
  };
};

/** Postmark writes the padding of buttons as borders of their own colour. */
export const buttonSides = (
  link: Element,
  padding: Sides,
  border: string | undefined,
  background: string | undefined,
): readonly [Sides, string | undefined] => {
  const drawn = ['top', 'right', 'bottom', 'left'].map((side) => cssBorder(link.styles.get(`border-${side}`) ?? ''));
  if (background !== undefined && drawn.every((one) => one !== undefined && one.endsWith(background)))
    return [addedSides(padding, drawn.map((one) => px(one?.split(' ')[0])) as unknown as Sides), undefined];
  const line = link.styles.get('line-height');
  const height = line === undefined ? 0 : px(line);
  if (padding[0] === 0 && padding[2] === 0 && height > 24)
    return [[(height - 20) / 2, Math.max(padding[1], 20), (height - 20) / 2, Math.max(padding[3], 20)], border];
  return [padding, border];
};

/** Components with these sides around all of them together; undefined where one of them cannot have them. */
export const withRoom = (children: readonly Made[], [top, right, bottom, left]: Sides): readonly Made[] | undefined => {
  const all: Made[] = [];
  for (const [at, child] of children.entries()) {
    const sides: Sides = [at === 0 ? top : 0, right, at === children.length - 1 ? bottom : 0, left];
    const padded = paddedChild(child, sides);
    if (padded === undefined) return undefined;
    all.push(padded);
  }
  return all;
};

const paddedChild = (child: Made, sides: Sides): Made | undefined => {
  const [top, right, bottom, left] = sides;
  const { props = {} } = child;
  switch (child.type) {
    case 'rich-text':
    case 'html-fragment':
    case 'image':
      if (props['backgroundColor'] !== undefined && (left > 0 || right > 0 || top > 0 || bottom > 0)) return undefined;
      return { ...child, props: { ...props, padding: boxText(addedSides(sidesOf(props['padding']), sides)) } };
    case 'divider':
      return { ...child, props: { ...props, margin: boxText(addedSides(sidesOf(props['margin']), sides)) } };
    case 'spacer':
      return {
        ...child,
        props: { height: (typeof props['height'] === 'number' ? props['height'] : 0) + top + bottom },
      };
    case 'button':
      if ((left > 0 || right > 0) && props['align'] !== 'center') return undefined;
      return { ...child, room: { above: (child.room?.above ?? 0) + top, below: (child.room?.below ?? 0) + bottom } };
    case 'columns':
    case 'list':
      if (left > 0 || right > 0) return undefined;
      return { ...child, room: { above: (child.room?.above ?? 0) + top, below: (child.room?.below ?? 0) + bottom } };
    case 'container': {
      if (left > 0 || right > 0) return undefined;
      return { ...child, room: { above: (child.room?.above ?? 0) + top, below: (child.room?.below ?? 0) + bottom } };
    }
    default:
      return undefined;
  }
};
