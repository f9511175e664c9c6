/** Sentences about what mail programs do not show, from the data of caniemail.com (bin/client-support.js). */

/** By feature: the names of the programs that lack it. */
export type Support = Readonly<Record<string, readonly string[]>>;

type Hint = Readonly<{
  feature: string;
  isFor: (name: string, value: unknown) => boolean;
  /** Begins the sentence: "… Outlook on Windows and GMX." */
  says: string;
}>;

const text = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');
const ends = (value: unknown, ending: RegExp): boolean => ending.test(text(value));

/** The first that concerns a value is told. Features that the service replaces by others are not in the list. */
const hints: readonly Hint[] = [
  {
    feature: 'css-border-radius',
    isFor: (name, value) =>
      name === 'borderRadius' && value !== undefined && !/^0(?:\D|$)/.test(String(value as string)),
    says: 'Rounded corners are not shown by',
  },
  {
    feature: 'css-unit-rem',
    isFor: (name, value) => name !== 'content' && /(?:^|\s)\d[\d.]*rem(?:\s|$)/i.test(text(value)),
    says: 'The unit rem is not known by',
  },
  {
    feature: 'image-webp',
    isFor: (name, value) => name === 'src' && ends(value, /\.webp(?:[?#]|$)/i),
    says: 'WebP pictures are not shown by',
  },
  {
    feature: 'image-avif',
    isFor: (name, value) => name === 'src' && ends(value, /\.avif(?:[?#]|$)/i),
    says: 'AVIF pictures are not shown by',
  },
  {
    feature: 'image-svg',
    isFor: (name, value) => name === 'src' && ends(value, /^https?:.*\.svg(?:[?#]|$)/i),
    says: 'One of the gallery is sent as PNG; SVG pictures of other servers are not shown by',
  },
  {
    feature: 'html-anchor-links',
    isFor: (name, value) => name === 'href' && text(value).startsWith('#'),
    says: 'Links inside of a mail are not followed by',
  },
  {
    feature: 'css-background-image',
    isFor: (name, value) =>
      name === 'content' && /background(?:-image)?\s{0,9}:[^;"]{0,200}(?:url|gradient)\(/i.test(text(value)),
    says: 'Background pictures are not shown by',
  },
];

/** Programs that are named; others are counted. */
const NAMED_MAX = 4;

/** In: the data, a property and its value. Out: a sentence, or undefined where all programs show it. */
export const supportSentence = (support: Support, name: string, value: unknown): string | undefined => {
  for (const { feature, isFor, says } of hints) {
    const programs = support[feature] ?? [];
    if (programs.length === 0 || !isFor(name, value)) continue;
    const more = programs.length - NAMED_MAX;
    const named = programs.slice(0, NAMED_MAX);
    const listed =
      more > 0
        ? `${named.join(', ')} and ${more} more`
        : [named.slice(0, -1).join(', '), named.at(-1)].filter((one) => one !== '').join(' and ');
    return `${says} ${listed}.`;
  }
  return undefined;
};

/** The features that the build takes from the data. */
export const supportFeatures: readonly string[] = hints.map(({ feature }) => feature);
