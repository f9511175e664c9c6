/** The type of a sample template, and the parts that samples share: header, footer, logo, translations. */
import type { JsonObject } from '../domain/core/json.js';
import type { Component, EmailTemplateContent, Section, AttachmentTemplateContent } from '../domain/rendering/content.js';
import type { VariableDefinition } from '../domain/rendering/scope/definitions.js';
import { mapDocumentTexts, mapEmailTexts, type MapText } from '../domain/rendering/languages.js';
import { nameOfText } from '../domain/rendering/translations.js';
import type { SampleAttachment } from './attachments/sample.js';

/** A template as a client posts it, with variables for a first email. */
export type SampleTemplate = EmailTemplateContent &
  Readonly<{
    slug: string;
    name: string;
    description: string;
    /** Variables for a first email, as the `curl` lines of the documentation send them. */
    exampleVariables: JsonObject;
    /** Such variables by language, where they have words of a script of their own. */
    examplesIn?: Readonly<Record<string, JsonObject>>;
  }>;

type ByLanguage<Words> = Readonly<{ own: Words; others: Readonly<Record<string, Words>> }>;

type About<Sample, Written extends keyof Sample> = Omit<Sample, Written | 'translations'>;

type EmailWritten = Pick<EmailTemplateContent, 'subject' | 'variables' | 'schema'>;

type DocumentWritten = Pick<AttachmentTemplateContent, 'variables' | 'schema'> & Readonly<{ name: string }>;

/** A mark that stands for the logo of a company until it has its own: a PNG of 96 by 96 pixels. */
export const exampleLogo =
  'data:image/png;base64,' +
  'iVBORw0KGgoAAAANSUhEUgAAAGAAAABgCAYAAADimHc4AAAGk0lEQVR4nO2dTWxUVRTHz+3EJsaGjq5gYRkiGAmg1AWLtlMnMVFUEiACC1nYgi4kYNsdhIVo' +
  'grCDioEVtC4wETC2CQhqlElbmrixxZKQ2CYM9QMWBqe0xqQ4c/2fV6fz9aZ9nfa+O5M5v2TenPvmdnN+951773tJn6IiCUYiIUr+u5V0MkKkgqR0UGvaSBWC' +
  'UjRMmmLE31XUG48ODuP0glH4eAZJD1Jyug1hC5IdImEWCInh2ENVj3XGo1HE3lD4zMts4rVq16SDOCXMgSLVTYHHOiAijuaczCsgGAlvo0SySxK/MCAhToGq' +
  '1ni0vwfNgswpINjceEJr3Y5QKBKI6I7332hF6IrCx5VguPE6Rn2EhEWDJPdQoBpXQ35Jwm/5IPldSH4LCUsGEt0T7x/cjjALnM9Gkm8OrJQ6432D7QhnyRLA' +
  'E65OJL5CKBhCBQLbMyfmWQHOUjPx6A5GfxBNwRCYlONYoq5KzQdpAc0NJ7WmNoSCYZRSn8X7brQQcARg9Id0YvoOQsEnVKCar4LYjIDmhiMY/R8gFHwiNSHP' +
  'CAg3/iW1318gIAYBq1Qw0hTRieR1nBN8RgWoXkn5sQdWRB0qGG6IaqKX0LbK5pUP6UTTOCKivT+sosF7TyDKx2u/cgD1vxcC7Nf/p2um6dutv1BtdQItoonp' +
  'AK09vx5RNl77lQuYB4ZVbbhBI7YKJ3X9U/8gmuG3qWradHEtomxy+z2EgOfKWABjXcC76/6kDzf9jijNHpSWa3eXIUrjtV+5YV1A18sxerVuAtEM34zXUuv3' +
  'IcrFa79yw7qA27tvzdZ0Zse11a4Tq9d+5YZ1AX+03sQxzSu9z9KtB48jysZrv3LDuoDvMLGuy5hYOwbq6IvRJxFl47VfuWFdwMnwr7Rr9QNEMwzer6EdV59B' +
  'lI3XfuWGdQENK/6mS5vHEKVxG91e+5Ub1gUwuaO70AbLa79yoiQE8Ormx523aRm+mUIbMa/9yomSEMDwPZ6PsNHi5LajtBTaYHntVy6UjIBKRQRYRgRYRgRY' +
  'RgRYxjcB8b4bONon2NyIY+kgAixTcQKOd53FMc3E5BSNjI3SwPAQWv5TcQLmYmR0lD6/+jWduXQBLX8QAS4MDP1E+45/TOP37qFlFhFQgInJSUfClf4+tMwh' +
  'AuaAJYTfaTV6JVScgONd53BMU1tTQxvWrKGmjfVo5cPlaEvbAURmqDgBhZahLOH0ocO0YfUatLI5dKqTzlw0MzGLgBz6z3XnSeDVUXhvC5lABOTAV0L/2W7K' +
  'Zb6/KxYR4MLlTz7NmxN4HuD5YKkRAS4cO9BG7+3chSiNqXlABLggAgziRYCUIIPMJ0AmYcPMl0hOPkvIZGQMy9A9LWQCEfA/nPTTB7ERw3cupuo/U3ECcp8H' +
  'OLcisPFqqn8RrXz4OcGW9/cjMkPFCVgIE1NTzg5YbsZZgJO/+/AhIyufTHwT4HaPpVThsrPv2FGjIz+FbwLc1talBq92nEeShiZcN3wT4La79JuBoSFndGcy' +
  'MTWJxI/hN7OlphC+CeDlHa+xbcITKt9aLiV8E8D8fOFLqlu+HJH/jN+/T8/vehNRaeGrgLdee9156mQDXtGYfsBeDL4KYGxMxlz3TW6mFoPvAupWrHDmAt6B' +
  '+gGv57n2+7GkLAbfBTC87b/ceQqReTj5pTbxZmJFAMMSzh89ZuxK4JG/pW1/SSefsSaA4XLEk/JSzwlc8/3ayS4WqwJS8OroYOveRS9ReanJt45LcbVTiJIQ' +
  'kII3a280NaM81Tulab57RyNjo06p4R3ulYG+ki83bpSUgEpEBFhGBFhGBFhGBFhGBFhGBFhGBFhGBFhGBFiG/3n3sCb9AmLBZxSpmxDQ0INLYCvags8o59/X' +
  'ywscrIEroEMFIw0bdYKG0BZ8xnmFCb4JZSimiVYiFHwCib8b7x8M4RsC5CVuvqOyXmMlL3LznawXuTHB5sZurfXbCAXDpEY/QkoL4Jd5JqdjKEW1aAqGQPIn' +
  'qKo6hNEfRzMtgJHX2Zqn4OtsU0gpMgdG/2zpSZEngMGyVHbHSwwS3Ytl5zaEWeB8Ps58kJjuFglLA5LcS4HqllTdzwS/FUbK0eJxKzuZzCmA4YmZkgmIkNXR' +
  'QkDisdoJYNSnJ1w35hXAOCUp+Qi7ZbkavIDkd2KpecSt5OTiSUAKiAhhr9BOmrZpuXeUhcK9HRx6kPiTSHyMPIK/Kw6+i0oJFSHS+KiQrrCHOgoPU4h0DFGU' +
  'Ajoajw4OUxH8Bz+tNDsFs2xwAAAAAElFTkSuQmCC';

/** The colours of all samples: change them here, or in one template, for those of your brand. */
export const BRAND = { dark: '#0f3d3a', main: '#0f766e', pale: '#e5efed', accent: '#f59e0b', accentInk: '#b45309' } as const;

/** The look of side notes: small and grey. */
export const SMALL = { fontSize: 14, color: '#6b7280' } as const;

export const rich = (id: string, content: string, props?: JsonObject): Component => ({
  id,
  type: 'rich-text',
  content,
  ...(props === undefined ? {} : { props }),
});

/** Shown where the path has a value. */
export const whereGiven = (path: string, children: readonly Component[], elseChildren?: readonly Component[]): Component => ({
  id: `has-${children[0]?.id ?? path}`,
  type: 'conditional',
  props: { condition: path, operator: 'isEmpty' },
  children: elseChildren ?? [],
  elseChildren: children,
});

const brand: Component = {
  id: 'brand',
  type: 'rich-text',
  content: '<p style="font-size:18px;font-weight:700;letter-spacing:-0.2px">{{__COMPANY_NAME__}}</p>',
};

/** The company's name over the card. */
export const brandHeader: Section = { id: 'header', type: 'header', components: [brand] };

/** The address of a logo, which a call may give. */
export const logoVariable: VariableDefinition = {
  name: 'logo',
  type: 'string',
  description: 'A picture 40 pixels high: asset: and its id in the gallery, or an https address; without it the name stands alone',
  defaultValue: '',
};

/** The logo where there is one, and the company's name, over the card. */
export const logoHeader: Section = {
  id: 'header',
  type: 'header',
  components: [
    { id: 'logo', type: 'image', props: { src: '{{logo}}', alt: '', height: 40, padding: '0 0 8px', hideWhenEmpty: true } },
    brand,
  ],
};

/** The footer: why the reader got the mail, and who sent it. */
export const footerWith = (...components: readonly Component[]): Section => footerIn({}, ...components);

/** `footerWith` with props for the lines that name the sender: their direction, in a mail of another script than the company's name. */
export const footerIn = (props: JsonObject, ...components: readonly Component[]): Section => {
  const line = (id: string, content: string): Component => rich(id, content, Object.keys(props).length === 0 ? undefined : props);
  return {
    id: 'footer',
    type: 'footer',
    components: [
      ...components,
      {
        id: 'has-address',
        type: 'conditional',
        props: { condition: '__COMPANY_ADDRESS_LINE1__', operator: 'isEmpty' },
        children: [line('copyright', '<p>© {{__CURRENT_YEAR__}} {{__COMPANY_LEGAL_NAME__}}</p>')],
        elseChildren: [
          line(
            'imprint',
            '<p>© {{__CURRENT_YEAR__}} {{__COMPANY_LEGAL_NAME__}}<br>' +
              '{{__COMPANY_ADDRESS_LINE1__}}, {{__COMPANY_POSTAL_CODE__}} {{__COMPANY_CITY__}}, {{__COMPANY_COUNTRY__}}</p>',
          ),
        ],
      },
    ],
  };
};

const HELP_ADDRESS = '<a href="mailto:{{__COMPANY_EMAIL__}}">{{__COMPANY_EMAIL__}}</a>';

/** In: a sentence that asks to write to `@`. Out: the line of a footer with the company's address in it. */
export const helpLine = (sentence: string): Component => rich('help', `<p>${sentence.replace('@', HELP_ADDRESS)}</p>`);

/** A sample in several languages. `written` makes the template from the words of each language, so that each text has its translation. */
export const emailInLanguages = <Words>(
  about: About<SampleTemplate, keyof EmailWritten>,
  { own, others }: ByLanguage<Words>,
  written: (words: Words) => EmailWritten,
): SampleTemplate => {
  const textsOf = (words: Words): readonly string[] => textsIn((map) => mapEmailTexts(written(words), map));
  return { ...about, ...written(own), translations: translationsOf(textsOf, { own, others }) };
};

/** `emailInLanguages` for an attachment template, whose name is translated too. */
export const documentInLanguages = <Words>(
  about: About<SampleAttachment, keyof DocumentWritten>,
  { own, others }: ByLanguage<Words>,
  written: (words: Words) => DocumentWritten,
): SampleAttachment => {
  const textsOf = (words: Words): readonly string[] => {
    const { name, ...content } = written(words);
    return [name, ...textsIn((map) => mapDocumentTexts(content, map))];
  };
  return { ...about, ...written(own), translations: translationsOf(textsOf, { own, others }) };
};

const textsIn = (walk: (map: MapText) => unknown): readonly string[] => {
  const texts: string[] = [];
  // Samples calculate the same in each language.
  walk((text, _, kind) => {
    if (kind !== 'expression') texts.push(text);
    return text;
  });
  return texts;
};

const translationsOf = <Words>(
  textsOf: (words: Words) => readonly string[],
  { own, others }: ByLanguage<Words>,
): Record<string, Record<string, string>> => {
  const texts = textsOf(own);
  return Object.fromEntries(Object.entries(others).map(([tag, words]) => [tag, paired(texts, textsOf(words))]));
};

/** Texts without words are the same in each language. */
const paired = (own: readonly string[], other: readonly string[]): Record<string, string> => {
  if (own.length !== other.length) throw new Error(`${own.length} texts have ${other.length} translations`);
  const pairs: Record<string, string> = {};
  for (const [at, text] of own.entries()) {
    const translated = other[at] ?? '';
    const name = nameOfText(text);
    if (pairs[name] !== undefined && pairs[name] !== translated) throw new Error(`"${text}" has two translations`);
    if (translated !== text || hasWords(text)) pairs[name] = translated;
  }
  return pairs;
};

const hasWords = (text: string): boolean => /\p{L}/u.test(text.replaceAll(/\{\{[^}]*\}\}|<[^>]*>|&\w+;/g, ''));
