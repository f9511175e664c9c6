/** Every colour of a template has a twin for dark mode, worked out when the template is compiled: light surfaces become dark ones of the same hue, dark text light. */
import { hexOfHsl, hslOf, rgbOf } from '../colors.js';

/** `cells`: the lines of all cells of a table, by one class of the table. */
export type ColorRole = 'page' | 'surface' | 'text' | 'line' | 'cells';

export type DarkColors = Readonly<{
  /** The class that gives the twin, as ` class="…"` wants it, or '' where the colour stays as it is. */
  classOf: (role: ColorRole, css: string) => string;
  /** The rules of all classes that were asked for. */
  rules: () => string;
}>;

const property: Readonly<Record<ColorRole, string>> = {
  page: 'background-color',
  surface: 'background-color',
  text: 'color',
  line: 'border-color',
  cells: 'border-color',
};

export const createDarkColors = (): DarkColors => {
  const classes = new Map<string, { name: string; rule: string }>();
  return {
    classOf: (role, css) => {
      const twin = twinOf(role, css);
      if (twin === undefined) return '';
      const declared = `${property[role]}:${twin}!important`;
      const key = role === 'cells' ? `cells ${declared}` : declared;
      const known = classes.get(key) ?? ruleOf(role, `${role.charAt(0)}${classes.size}`, declared);
      classes.set(key, known);
      return known.name;
    },
    rules: () => [...classes.values()].map(({ rule }) => rule).join(''),
  };
};

const ruleOf = (role: ColorRole, name: string, declared: string): { name: string; rule: string } => ({
  name,
  rule: role === 'cells' ? `.${name} td,.${name} th{${declared}}` : `.${name}{${declared}}`,
});

const twinOf = (role: ColorRole, css: string): string | undefined => {
  const rgb = rgbOf(css);
  if (rgb === undefined) return undefined;
  const [hue, saturation, lightness] = hslOf(rgb);
  const dark = 1 - lightness;
  switch (role) {
    case 'page':
      return lightness < 0.8 ? undefined : hexOfHsl([hue, Math.min(saturation, 0.15), 0.065 + dark * 0.3]);
    // White gets a touch of blue: pure greys look brown beside the page.
    case 'surface':
      return lightness < 0.8
        ? undefined
        : hexOfHsl([
            saturation === 0 ? 220 : hue,
            saturation === 0 ? 0.08 : Math.min(saturation, 0.22),
            // A strong tint stays dark enough for links.
            0.12 + Math.min(dark * 1.3, 0.045 + dark * 0.5),
          ]);
    case 'text':
      return lightness > 0.6
        ? undefined
        : hexOfHsl([hue, saturation * (saturation > 0.5 ? 1 : 0.6), Math.max(0.76, 0.98 - lightness * 0.5)]);
    case 'line':
    case 'cells':
      return lightness < 0.6 ? undefined : hexOfHsl([hue, Math.min(saturation, 0.15), 0.22 + dark * 0.5]);
  }
};
