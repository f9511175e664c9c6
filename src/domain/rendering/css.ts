/**
 * CSS values that props may hold, in the one spelling that all mail clients take. Anything else is refused, so no value
 * can leave its property.
 */

export const chartTypes = ['bar', 'column', 'line', 'area', 'pie', 'doughnut', 'stacked-column'] as const;

export type ChartType = (typeof chartTypes)[number];

const HEX = /^#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i;
export const FUNCTIONAL_COLOR =
  /^(?:rgb|hsl)a?\(\s*-?\d{1,3}(?:\.\d{1,3})?(?:deg|%)?(?:\s*[,\s/]\s*\d{1,3}(?:\.\d{1,3})?%?){2,3}\s*\)$/i;
export const CSS_LENGTH = /^(\d{1,4}(?:\.\d{1,3})?)(px|pt|em|rem|%)?$/i;
export const FONT_FAMILY = /^[\p{L}\p{M}\p{N} ,'"_-]{1,200}$/u;
const LINE_STYLES = ['solid', 'dashed', 'dotted', 'double', 'none'];

/** In: a colour (hex, rgb(), hsl() or a CSS name). Out: the same in lower case, or undefined. */
export const cssColor = (value: unknown): string | undefined => {
  if (typeof value !== 'string' || value.length > 60) return undefined;
  const color = value.trim().toLowerCase();
  if (HEX.test(color) || FUNCTIONAL_COLOR.test(color) || color === 'transparent') return color;
  return colorNames.has(color) ? color : undefined;
};

/** In: a number (pixels) or a string with a unit (px, pt, em, rem, %). Out: CSS, or undefined. */
export const cssLength = (value: unknown): string | undefined => {
  if (typeof value === 'number')
    return Number.isFinite(value) && value >= 0 && value <= 9_999
      ? value === 0
        ? '0'
        : `${round(value)}px`
      : undefined;
  if (typeof value !== 'string') return undefined;
  const match = CSS_LENGTH.exec(value.trim());
  if (match === null) return undefined;
  const number = Number(match[1]);
  return number === 0 ? '0' : `${number}${(match[2] ?? 'px').toLowerCase()}`;
};

/** Pixels of a length where they are known without the page: a number, px or pt. */
export const pixels = (css: string): number | undefined => {
  const match = /^([\d.]+)(px|pt)?$/.exec(css);
  return match === null ? undefined : Number(match[1]) * (match[2] === 'pt' ? 4 / 3 : 1);
};

/** Padding and margin: one to four lengths, as in CSS. */
export const cssBox = (value: unknown): string | undefined => {
  if (typeof value === 'number') return cssLength(value);
  if (typeof value !== 'string') return undefined;
  const sides = value.trim().split(/\s+/, 5).map(cssLength);
  return sides.length > 4 || sides.includes(undefined) ? undefined : sides.join(' ');
};

/** A border in CSS shorthand in any order (`1px solid #ddd`), a number (pixels of a solid line), or `none`. */
export const cssBorder = (value: unknown): string | undefined => {
  if (value === 'none' || value === 0 || value === '0' || value === false) return 'none';
  if (typeof value === 'number')
    return cssLength(value) === undefined ? undefined : `${cssLength(value)} solid #e5e7eb`;
  if (value === true) return '1px solid #e5e7eb';
  if (typeof value !== 'string' || value.length > 100) return undefined;
  let [width, style, color]: (string | undefined)[] = [];
  for (const word of value.trim().split(/\s+(?![^(]*\))/)) {
    const asLength = cssLength(word);
    if (asLength !== undefined && width === undefined) width = asLength;
    else if (LINE_STYLES.includes(word.toLowerCase()) && style === undefined) style = word.toLowerCase();
    else if (cssColor(word) !== undefined && color === undefined) color = cssColor(word);
    else return undefined;
  }
  return `${width ?? '1px'} ${style ?? 'solid'} ${color ?? '#e5e7eb'}`;
};

/** A list of font names; double quotes become single ones, for the value stands in an attribute. */
export const cssFontFamily = (value: unknown): string | undefined =>
  typeof value === 'string' && FONT_FAMILY.test(value.trim()) ? value.trim().replaceAll('"', "'") : undefined;

/** A factor (1.5) or a length. */
export const cssLineHeight = (value: unknown): string | undefined => {
  const factor =
    typeof value === 'number'
      ? value
      : typeof value === 'string' && /^\d(\.\d{1,3})?$/.test(value.trim())
        ? Number(value)
        : undefined;
  if (factor !== undefined && factor > 0 && factor < 10) return String(round(factor));
  return typeof value === 'string' ? cssLength(value) : cssLength(value);
};

const DECLARATION = /^[#\p{L}\p{M}\w\s.,%+()'/*-]{1,300}$/u;
const FUNCTIONS = /^(?:rgba?|hsla?|calc|min|max|clamp|(?:repeating-)?(?:linear|radial)-gradient)?$/i;
const FUNCTION = /([a-z-]*)\s*\(/gi;

/**
 * The value of a declaration in a `style` attribute: plain words, numbers, colours, gradients, calculated lengths; no
 * url(), no expression(), nothing that ends the declaration.
 */
export const cssDeclaration = (value: string): string | undefined => {
  const css = value.trim();
  if (!DECLARATION.test(css) || css.includes('/*')) return undefined;
  return [...css.matchAll(FUNCTION)].every(([, name]) => FUNCTIONS.test(name ?? '')) ? css : undefined;
};

const round = (value: number): number => Math.round(value * 1_000) / 1_000;

const table =
  'aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4 black 000000 ' +
  'blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 cadetblue 5f9ea0 chartreuse 7fff00 ' +
  'chocolate d2691e coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff darkblue 00008b ' +
  'darkcyan 008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400 darkgrey a9a9a9 darkkhaki bdb76b ' +
  'darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred 8b0000 darksalmon e9967a ' +
  'darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkslategrey 2f4f4f darkturquoise 00ced1 ' +
  'darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray 696969 dimgrey 696969 dodgerblue 1e90ff firebrick b22222 ' +
  'floralwhite fffaf0 forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc ghostwhite f8f8ff gold ffd700 goldenrod daa520 ' +
  'gray 808080 green 008000 greenyellow adff2f grey 808080 honeydew f0fff0 hotpink ff69b4 indianred cd5c5c indigo 4b0082 ' +
  'ivory fffff0 khaki f0e68c lavender e6e6fa lavenderblush fff0f5 lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6 ' +
  'lightcoral f08080 lightcyan e0ffff lightgoldenrodyellow fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3 ' +
  'lightpink ffb6c1 lightsalmon ffa07a lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899 ' +
  'lightslategrey 778899 lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6 ' +
  'magenta ff00ff maroon 800000 mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3 mediumpurple 9370db ' +
  'mediumseagreen 3cb371 mediumslateblue 7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc mediumvioletred c71585 ' +
  'midnightblue 191970 mintcream f5fffa mistyrose ffe4e1 moccasin ffe4b5 navajowhite ffdead navy 000080 oldlace fdf5e6 ' +
  'olive 808000 olivedrab 6b8e23 orange ffa500 orangered ff4500 orchid da70d6 palegoldenrod eee8aa palegreen 98fb98 ' +
  'paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru cd853f pink ffc0cb plum dda0dd ' +
  'powderblue b0e0e6 purple 800080 rebeccapurple 663399 red ff0000 rosybrown bc8f8f royalblue 4169e1 saddlebrown 8b4513 ' +
  'salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee sienna a0522d silver c0c0c0 skyblue 87ceeb ' +
  'slateblue 6a5acd slategray 708090 slategrey 708090 snow fffafa springgreen 00ff7f steelblue 4682b4 tan d2b48c ' +
  'teal 008080 thistle d8bfd8 tomato ff6347 turquoise 40e0d0 violet ee82ee wheat f5deb3 white ffffff whitesmoke f5f5f5 ' +
  'yellow ffff00 yellowgreen 9acd32';

const words = table.split(' ');

/** Name to six hex digits: the named colours of CSS (CSS Color 4, section 6.1). */
export const colorNames: ReadonlyMap<string, string> = new Map(
  words.flatMap((name, at) => (at % 2 === 0 ? [[name, words[at + 1] ?? ''] as const] : [])),
);

/**
 * Colours of series and slices that have none of their own: people who see colours in different ways can tell them
 * apart, on paper and in grey too.
 */
export const chartPalette = [
  '#2563eb',
  '#f59e0b',
  '#0d9488',
  '#db2777',
  '#7c3aed',
  '#65a30d',
  '#0891b2',
  '#ea580c',
  '#4b5563',
  '#a16207',
  '#be123c',
  '#1e3a8a',
];

/** Name of a font family for comparisons: `'Noto Sans Hebrew'` and NotoSansHebrew are one family. */
export const plainFamily = (name: string): string => name.replace(/['"\s]+/g, '').toLowerCase();
