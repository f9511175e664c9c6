/**
 * Warnings about the texts of a checked template (addresses that lead nowhere, constants without braces), and which
 * assets its texts name.
 */
import { isJsonObject, type Json } from '../../core/json.js';
import { nameOfText, type Translations } from '../translations.js';
import type { VariableDefinition } from '../scope/definitions.js';
import type { FieldError } from '../../core/errors.js';
import { constants } from '../scope/constants.js';
import { addressesIn, assetAddress, type HtmlAddress } from '../addresses.js';
import type { Media } from '../lengths.js';
import { mayBeAddress } from '../props.js';
import { shorten } from '../scope/path.js';

/** Parts of a template that hold texts, of an email or of a document. */
export type Texts = Readonly<{ schema: unknown; translations?: Translations | undefined }>;

/** Enough to work with. */
const WARNINGS_MAX = 20;

const CHARS_SHOWN = 60;

/**
 * In: a checked template with its translations. Out: a warning for each link and each picture in its texts whose
 * address can never be one: mails and documents have no address of their own to which another could be relative.
 */
export const addressWarnings = (template: Texts, { image, link, noun }: Media): readonly FieldError[] => {
  const warnings: FieldError[] = [];
  const look = (text: string, field: string): void => {
    if (warnings.length >= WARNINGS_MAX || !text.includes('<')) return;
    for (const found of addressesIn(text)) {
      if (mayBeAddress(found.address, found.tag === 'a' ? link : image)) continue;
      warnings.push({ field, message: messages[found.tag](found, { image, link, noun }) });
      if (warnings.length >= WARNINGS_MAX) return;
    }
  };
  visitTexts(template, look);
  return warnings;
};

const messages: Readonly<
  Record<HtmlAddress['tag'], (found: HtmlAddress, media: Pick<Media, 'image' | 'link' | 'noun'>) => string>
> = {
  a: ({ address }, { link, noun }) =>
    `has a link to "${shorten(address, CHARS_SHOWN)}", which leads nowhere from ${article[noun]}: it must be ${link.expected}`,
  img: ({ address }, { image, noun }) =>
    `has a picture "${shorten(address, CHARS_SHOWN)}", which ${article[noun]} does not show: it must be ${image.expected}`,
};

const article = { email: 'an email', document: 'a document' } as const;

/** Props that hold a path, with braces or without. */
const PATHS = /\.props\.(?:condition|dataSource)$/;

type Written = Texts & Readonly<{ subject?: string | undefined; variables?: readonly VariableDefinition[] }>;

/**
 * In: a checked template with its translations. Out: a warning for each text that holds the name of a constant outside
 * of braces: its reader would see the name.
 */
export const bareConstantWarnings = ({
  subject,
  schema,
  variables = [],
  translations = {},
}: Written): readonly FieldError[] => {
  const expressions = new Set(expressionsIn(variables as unknown as Json).map(nameOfText));
  const warnings: FieldError[] = [];
  const look = (text: string, field: string): void => {
    if (warnings.length >= WARNINGS_MAX || !text.includes('__') || PATHS.test(field)) return;
    const outside = text.replaceAll(/\{\{[^{}]*\}\}/g, ' ');
    const bare = constants.find((constant) => outside.includes(constant));
    if (bare !== undefined)
      warnings.push({ field, message: `shows ${bare} as it is written: a constant stands in braces, {{${bare}}}` });
  };
  if (subject !== undefined) look(subject, 'subject');
  visitTexts({ schema, translations: withoutTexts(translations, expressions) }, look);
  return warnings;
};

/** The expressions of variables and of their members, which hold constants without braces. */
const expressionsIn = (value: Json | undefined): readonly string[] => {
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(expressionsIn);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'expression' && typeof member === 'string' ? [member] : expressionsIn(member),
  );
};

const withoutTexts = (translations: Translations, names: ReadonlySet<string>): Translations =>
  Object.fromEntries(
    Object.entries(translations).map(([tag, texts]) => [
      tag,
      Object.fromEntries(Object.entries(texts).filter(([text]) => !names.has(nameOfText(text)))),
    ]),
  );

/** `field`: where it is named first. */
export type AssetReference = Readonly<{ field: string; assetId: string; use: 'picture' | 'font' }>;

const SCHEME = 'asset:';
const FONTS = /^schema\.fonts\[\d+\]\./;

/** In: a checked template. Out: each asset that it names as a whole, once for each use, in order. */
export const assetReferencesOf = (template: Texts): readonly AssetReference[] => {
  const found = new Map<string, AssetReference>();
  const add = (text: string, field: string, use: AssetReference['use']): void => {
    const address = assetAddress(text);
    if (address === undefined) return;
    const key = `${use} ${address}`;
    if (!found.has(key)) found.set(key, { field, assetId: address.slice(SCHEME.length), use });
  };
  const look = (text: string, field: string): void => {
    if (!/asset:/i.test(text)) return;
    if (FONTS.test(field)) return add(text, field, 'font');
    if (field.endsWith('.src')) return add(text, field, 'picture');
    for (const { tag, address } of addressesIn(text)) if (tag === 'img') add(address, field, 'picture');
  };
  visitTexts(template, look);
  return [...found.values()];
};

type Visit = (text: string, field: string) => void;

/** Calls `visit` with each text of the schema and of the translations, and its place, whatever kind of text it is. */
export const visitTexts = ({ schema, translations = {} }: Texts, visit: Visit): void => {
  visitBelow(schema as Json, 'schema', visit);
  for (const [tag, texts] of Object.entries(translations))
    for (const text of Object.values(texts)) visit(text, `translations.${tag}`);
};

const visitBelow = (value: Json | undefined, field: string, visit: Visit): void => {
  if (typeof value === 'string') visit(value, field);
  else if (Array.isArray(value))
    (value as readonly Json[]).forEach((item, at) => visitBelow(item, `${field}[${at}]`, visit));
  else if (isJsonObject(value))
    for (const [name, member] of Object.entries(value)) visitBelow(member, `${field}.${name}`, visit);
};
