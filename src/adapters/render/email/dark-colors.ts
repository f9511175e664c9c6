/**
 * Legible colours of a mail, light and dark: letters on a background, and a counterpart in dark mode for every colour.
 * Light surfaces become dark ones of the same hue, dark text light. Literals are computed when the template is
 * compiled, values when it is rendered.
 */
import { READABLE_CONTRAST } from '../../../domain/rendering/contrast.js';
import { contrastOf, hexOfHsl, hslOf, isTranslucent, rgbOf, seenOn } from '../colors.js';

/**
 * `stripe`: the background of a row, which becomes dark with what surrounds it only. `cells`: the lines of all cells of
 * a table, by one class of the table.
 */
export type ColorRole = 'page' | 'surface' | 'stripe' | 'text' | 'line' | 'cells';

/**
 * The background of text: an opaque colour in light mode and one in dark mode. A surface without a dark twin has two
 * equal colours.
 */
export type Surface = Readonly<{
  light: string;
  dark: string;
  /** A picture covers it: what lies on it stays translucent. */ picture?: true;
}>;

export type DarkColors = Readonly<{
  /**
   * The name of the class that gives the twin of a colour that lies on a surface, or '' where the colour stays as it
   * is.
   */
  classOf: (role: ColorRole, css: string, on: Surface) => string;
  /** The rules of all classes that were asked for. */
  rules: () => string;
}>;

const property: Readonly<Record<ColorRole, string>> = {
  page: 'background-color',
  surface: 'background-color',
  stripe: 'background-color',
  text: 'color',
  line: 'border-color',
  cells: 'border-color',
};

/**
 * Classes for the colours that the variables of one mail bring. Beyond them, one class serves all texts and one all
 * surfaces.
 */
export const DARK_CLASSES_MAX = 500;

/** `prefix` keeps the names of two sets apart that are in one mail. */
export const createDarkColors = (prefix = '', classesMax = Infinity): DarkColors => {
  const classes = new Map<string, { name: string; rule: string }>();
  const asked = new Map<string, string>();
  const named = (role: ColorRole, twin: string): string => {
    const declared = `${property[role]}:${twin}!important`;
    const key = role === 'cells' ? `cells ${declared}` : declared;
    const known = classes.get(key) ?? ruleOf(role, `${prefix}${role.charAt(0)}${classes.size}`, declared);
    classes.set(key, known);
    return known.name;
  };
  return {
    classOf: (role, css, on) => {
      const key = `${role} ${css} ${on.light} ${on.dark}`;
      const known = asked.get(key);
      if (known !== undefined) return known;
      const twin = twinOn(role, css, on);
      if (twin === undefined) return '';
      if (asked.size >= classesMax)
        return role === 'line' || role === 'cells' ? '' : named(role, role === 'text' ? '#f3f4f6' : WHITE.dark);
      const name = named(role, twin);
      asked.set(key, name);
      return name;
    },
    rules: () => [...classes.values()].map(({ rule }) => rule).join(''),
  };
};

/** The rules of classes for clients in dark mode. */
export const darkStyle = (rules: string): string =>
  rules === '' ? '' : `@media (prefers-color-scheme:dark){${rules}}`;

const ruleOf = (role: ColorRole, name: string, declared: string): { name: string; rule: string } => ({
  name,
  rule: role === 'cells' ? `.${name} td,.${name} th{${declared}}` : `.${name}{${declared}}`,
});

/** In: what is behind, and a background. Out: the surface that the two make. */
export const surfaceOn = (
  behind: Surface,
  css: string,
  role: 'page' | 'surface' | 'stripe' | 'fixed' = 'surface',
): Surface => {
  const light = seenOn(css, behind.light);
  if (light === undefined) return behind;
  const isVeil = behind.picture === true && isTranslucent(css);
  const dark = role === 'fixed' || isVeil ? light : (twinOn(role, css, behind) ?? light);
  return { light, dark, ...(isVeil && { picture: true }) };
};

/** A translucent colour as it is seen on the surface, for some clients know opaque colours only; others as they are. */
export const opaqueOn = ({ light, picture }: Surface, css: string): string =>
  picture === undefined && isTranslucent(css) ? (seenOn(css, light) ?? css) : css;

/**
 * The first of the colours that can be read on a surface in light mode, else white, near black or black. The first
 * colour is one that the template names for its surroundings: it needs only the contrast `least`.
 */
export const readableOn = ({ light }: Surface, colors: readonly string[], least = READABLE_CONTRAST): string => {
  const found = colors.find(
    (color, at) => contrastOf(seenOn(color, light) ?? light, light) >= (at === 0 ? least : READABLE_CONTRAST),
  );
  return (
    found ??
    ['#1f2937', '#ffffff', '#111827'].find((color) => contrastOf(color, light) >= READABLE_CONTRAST) ??
    '#000000'
  );
};

/**
 * The background of every other row: nearly white on light surfaces, else a shade on which the text of the surface can
 * be read too.
 */
export const stripeOn = ({ light }: Surface, text: string): string => {
  const color = seenOn(text, light) ?? light;
  const shades = ['#f9fafb', seenOn('rgba(255,255,255,0.08)', light), seenOn('rgba(0,0,0,0.16)', light)];
  const least = Math.min(contrastOf(color, light), READABLE_CONTRAST);
  return shades.find((shade) => shade !== undefined && contrastOf(color, shade) >= least) ?? light;
};

/** The colour of a border as `cssBorder` gives it. */
export const lineColorOf = (border: string): string => /[a-z]+\(.*\)$|\S*$/.exec(border)?.[0] ?? '';

/** ` class="a b"`, or '' where there is none. */
export const classesOf = (...names: readonly string[]): string => {
  const some = new Set(names.filter((name) => name !== ''));
  return some.size === 0 ? '' : ` class="${[...some].join(' ')}"`;
};

/**
 * The twin of a colour on a surface; undefined where the colour stays as it is. Only backgrounds become dark on a
 * surface that does not.
 */
const twinOn = (role: ColorRole, css: string, on: Surface): string | undefined => {
  const isBackground = role === 'page' || role === 'surface';
  if (on.light === on.dark && !isBackground) return undefined;
  if (on.picture === true && isTranslucent(css)) return undefined;
  const seen = seenOn(css, on.light);
  if (seen === undefined) return undefined;
  const twin =
    role === 'text' ? textTwin(seen, on.dark) : (twinOf(role, seen) ?? (role === 'stripe' ? on.dark : undefined));
  return twin ?? (isTranslucent(css) ? seen : undefined);
};

/** The colour of letters that can be read on a dark surface. */
const textTwin = (color: string, surface: string): string | undefined => {
  const [hue, saturation, lightness] = hslOf(rgbOf(color) ?? [0, 0, 0]);
  const isLight = lightness > 0.6;
  if (isLight && contrastOf(color, surface) >= READABLE_CONTRAST) return undefined;
  const pure = isLight || saturation > 0.5 ? saturation : saturation * 0.6;
  for (let light = isLight ? lightness : Math.max(0.76, 0.98 - lightness * 0.5); light < 1; light += 0.02) {
    const twin = hexOfHsl([hue, pure, light]);
    if (contrastOf(twin, surface) >= READABLE_CONTRAST) return twin;
  }
  return '#ffffff';
};

const twinOf = (role: Exclude<ColorRole, 'text'>, color: string): string | undefined => {
  const rgb = rgbOf(color);
  if (rgb === undefined) return undefined;
  const [hue, saturation, lightness] = hslOf(rgb);
  const dark = 1 - lightness;
  switch (role) {
    case 'page':
      return lightness < 0.8 ? undefined : hexOfHsl([hue, Math.min(saturation, 0.15), 0.065 + dark * 0.3]);
    // White gets a touch of blue: pure greys look brown beside the page.
    case 'surface':
    case 'stripe':
      return lightness < 0.8
        ? undefined
        : hexOfHsl([
            saturation === 0 ? 220 : hue,
            saturation === 0 ? 0.08 : Math.min(saturation, 0.22),
            // A strong tint stays dark enough for links.
            0.12 + Math.min(dark * 1.3, 0.045 + dark * 0.5),
          ]);
    case 'line':
    case 'cells':
      return lightness < 0.6 ? undefined : hexOfHsl([hue, Math.min(saturation, 0.15), 0.22 + dark * 0.5]);
  }
};

/** A white page or card. */
export const WHITE: Surface = { light: '#ffffff', dark: twinOf('surface', '#ffffff') ?? '#ffffff' };
