/** How things look: the props of components as functions that give points, colours and boxes. */
import type { Json, JsonObject } from '../../core/json.js';
import { cssColor, cssFontFamily } from '../css.js';
import type { HorizontalAlign, TextStyle } from './expanded.js';
import type { Border, Box, Width } from '../boxes.js';
import { compileKind } from '../fill/filling.js';
import { borderOf, boxOf, lineHeightOf, noBorder, noBox, pointsOf, widthOf } from '../lengths.js';
import { textDirections } from '../direction.js';
import { aligns } from '../props.js';
import type { Scope, State } from '../scope/scope.js';

type Maker<T> = (state: State) => T;

/** What CSS takes 1 em for, where the author gave no size. */
const FONT_SIZE_POINTS = 12;

/** The same object without its members that are undefined: an optional prop is left out, not empty. */
export const defined = <T extends object>(object: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };

export const colorOf = (value: Json | undefined, scope: Scope): Maker<string | undefined> => compileKind(value, cssColor, scope);

export const compilePoints = (value: Json | undefined, scope: Scope): Maker<number | undefined> => compileKind(value, pointsOf, scope);

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
export const compileWord = <Word extends string>(value: Json | undefined, words: readonly Word[], scope: Scope): Maker<Word | undefined> =>
  compileKind(
    value,
    (given) => (typeof given === 'string' ? words.find((word) => word.toLowerCase() === given.trim().toLowerCase()) : undefined),
    scope,
  );

export const compileAlign = (value: Json | undefined, scope: Scope, fallback: HorizontalAlign = 'start'): Maker<HorizontalAlign> => {
  const align = compileWord(value, aligns, scope);
  return (state) => align(state) ?? fallback;
};

/** What the props of a block of text or of a section say of its letters; nothing is inherited here. */
export const compileTextStyle = (props: JsonObject, scope: Scope): Maker<TextStyle> => {
  const align = compileWord(props['align'], aligns, scope);
  const direction = compileWord(props['direction'], textDirections, scope);
  const color = colorOf(props['color'], scope);
  const fontSize = compilePoints(props['fontSize'], scope);
  const fontFamily = compileKind(props['fontFamily'], cssFontFamily, scope);
  const backgroundColor = colorOf(props['backgroundColor'], scope);
  const lineHeight = compileKind(props['lineHeight'], (value) => ({ of: (points: number) => lineHeightOf(value, points) }), scope);
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
