/** Content of email templates and attachment templates: the JSON that authors write, as types, once it is checked. */
import type { JsonObject } from '../core/json.js';
import type { ComponentsOf, Output } from './components.js';
import type { Translations } from './translations.js';
import type { VariableDefinition } from './scope/definitions.js';
import type { Direction } from './direction.js';

/** The language of a template that names none. */
export const DEFAULT_LOCALE = 'en-US';
export const DEFAULT_TIME_ZONE = 'UTC';

/**
 * The block of an include, once blocks are put in: the components of the block are then its children. `place` is where
 * they stand in the schema of the block.
 */
export type Included = Readonly<{
  slug: string;
  version: number;
  place: string;
  variables: readonly VariableDefinition[];
}>;

/** The components of a mail: those that the support matrix of domain/rendering/components.ts gives it. */
type EmailComponentType = ComponentsOf<'email'>;

export type Component = Readonly<{
  id: string;
  type: EmailComponentType;
  content?: string;
  props?: JsonObject;
  children?: readonly Component[];
  elseChildren?: readonly Component[];
  included?: Included;
}>;

export const sectionTypes = ['header', 'main', 'body', 'footer'] as const;
type SectionType = (typeof sectionTypes)[number];

export type Section = Readonly<{ id: string; type: SectionType; props?: JsonObject; components: readonly Component[] }>;

/**
 * `props` holds what concerns the whole email: preheader, colours, font, width. `layout` names the block around its
 * sections, as the props of an include do.
 */
type EmailSchema = Readonly<{ sections: readonly Section[]; props?: JsonObject; layout?: JsonObject }>;

/** One revision of an email template: all that its rendering depends on, beside the variables. */
export type EmailTemplateContent = Readonly<{
  subject: string;
  variables: readonly VariableDefinition[];
  schema: EmailSchema;
  /** BCP 47; default `en-US`. */
  locale?: string;
  /** IANA name; default `UTC`. */
  timeZone?: string;
  /** A send fails where a path that is shown has no value; default false. */
  strictVariables?: boolean;
  /** Its texts in other languages, by its own texts. */
  translations?: Translations;
}>;

export const outputFormats = ['pdf', 'excel'] as const;
export type OutputFormat = (typeof outputFormats)[number];

export const pageFormats = ['A4', 'Letter', 'Legal', 'A3', 'A5', 'Tabloid'] as const;
export type PageFormat = (typeof pageFormats)[number];

/** Most characters of a watermark that fit across a sheet: on A4, they are then 10 points high. */
export const WATERMARK_CHARS_MAX = 120;

export const orientations = ['portrait', 'landscape'] as const;
export type Orientation = (typeof orientations)[number];

/** Components that a document can hold in at least one of its formats. */
export type DocumentComponentType = ComponentsOf<OutputFormat>;

export type DocumentComponent = Readonly<{
  id: string;
  type: DocumentComponentType;
  content?: string;
  props?: JsonObject;
  children?: readonly DocumentComponent[];
  elseChildren?: readonly DocumentComponent[];
  included?: Included;
}>;

export type DocumentSection = Readonly<{
  id: string;
  type: SectionType;
  props?: JsonObject;
  components: readonly DocumentComponent[];
}>;

/** HTML with `{{pageNumber}}` and `{{totalPages}}` beside the variables. */
export type PageMargin = Readonly<{
  content: string;
  height?: string | number;
  align?: 'left' | 'center' | 'right' | 'start' | 'end';
  /** The props of a `qr-code` component, which stands beside the content. Only PDFs have it. */
  code?: JsonObject;
}>;

/** Settings that only the sheet of a workbook has. `printArea` is an area such as `A1:F40`. */
export type SheetSettings = Readonly<{
  hidden?: boolean;
  fitToWidth?: boolean;
  gridLines?: boolean;
  printArea?: string;
}>;

export const backgroundFits = ['cover', 'contain'] as const;
export const backgroundSheets = ['all', 'first'] as const;

/** Lengths are points, or text with a unit (`20mm`, `1in`). */
export type PageSettings = Readonly<{
  format?: PageFormat;
  orientation?: Orientation;
  /** Default: the direction of the locale. */
  direction?: Direction;
  margin?: Readonly<Partial<Record<'top' | 'right' | 'bottom' | 'left', string | number>>>;
  backgroundColor?: string;
  header?: PageMargin;
  footer?: PageMargin;
  sheet?: SheetSettings;
  /** On the first sheet of the page, in place of `header` and `footer`. */
  firstPageHeader?: PageMargin;
  firstPageFooter?: PageMargin;
  /** Drawn behind everything else on a sheet. */
  backgroundImage?: Readonly<{
    src: string;
    fit?: (typeof backgroundFits)[number];
    sheets?: (typeof backgroundSheets)[number];
  }>;
  watermark?: Readonly<{ text: string; color?: string }>;
  /**
   * The headings of the document with the numbers of their sheets, above what else stands on the page. `levels`: down
   * to which heading.
   */
  contents?: Readonly<{ title?: string; levels?: number }>;
}>;

export type Page = Readonly<{
  pageId: string;
  pageName: string;
  pageSettings?: PageSettings;
  sections: readonly DocumentSection[];
}>;

export const fontStyles = ['regular', 'bold', 'italic', 'boldItalic'] as const;
export type FontStyleName = (typeof fontStyles)[number];

/**
 * A family of the team's gallery, by the addresses of its files (`asset:` and an id). A style that is not there is
 * shown by the nearest.
 */
export type GalleryFont = Readonly<{ family: string; regular: string }> &
  Readonly<Partial<Record<Exclude<FontStyleName, 'regular'>, string>>>;

type AttachmentSchema = Readonly<{
  outputFormats: readonly OutputFormat[];
  pages: readonly Page[];
  /** Names the block around the sections of each page, as the props of an include do. */
  layout?: JsonObject;
  /** Default: characters of the schema itself are refused, those of variables replaced. */
  missingCharacters?: MissingCharacterRule;
  /** Families that `fontFamily` may name in a PDF, beside those of the service. */
  fonts?: readonly GalleryFont[];
}>;

/** One revision of an attachment template: all that a document depends on, beside the variables. */
export type AttachmentTemplateContent = Readonly<{
  variables: readonly VariableDefinition[];
  schema: AttachmentSchema;
  /** BCP 47; default `en-US`. */
  locale?: string;
  /** IANA name; default `UTC`. */
  timeZone?: string;
  /** A send fails where a path that is shown has no value; default false. */
  strictVariables?: boolean;
  /** Its texts in other languages, by its own texts. */
  translations?: Translations;
}>;

/** A component of a block, which may be one of mails or of documents. */
export type BlockComponent = Readonly<{
  id: string;
  type: ComponentsOf<Output>;
  content?: string;
  props?: JsonObject;
  children?: readonly BlockComponent[];
  elseChildren?: readonly BlockComponent[];
  included?: Included;
}>;

/** A section of a layout; the sections of a template take the place of the one that is a slot. */
export type LayoutSection =
  | Readonly<{ id: string; type: SectionType; props?: JsonObject; components: readonly BlockComponent[] }>
  | Readonly<{ id: string; type: 'slot' }>;

/** A piece that templates include, or a layout; `props` of a layout are those of an email that says none itself. */
export type BlockSchema =
  | Readonly<{ components: readonly BlockComponent[] }>
  | Readonly<{ sections: readonly LayoutSection[]; props?: JsonObject }>;

/** One revision of a block. */
export type BlockContent = Readonly<{
  variables: readonly VariableDefinition[];
  schema: BlockSchema;
  /** The language of its own texts, BCP 47. */
  locale: string;
  translations?: Translations;
}>;

/**
 * In: a checked schema. Out: the address of each file with its path in the template; the first one where several name
 * the same file.
 */
export const fontFilesOf = ({ fonts = [] }: Pick<AttachmentSchema, 'fonts'>): ReadonlyMap<string, string> => {
  const files = new Map<string, string>();
  fonts.forEach((font, at) => {
    for (const style of fontStyles) {
      const address = font[style];
      if (address !== undefined && !files.has(address)) files.set(address, `schema.fonts[${at}].${style}`);
    }
  });
  return files;
};

/** Handling in a PDF of a character that no font has: refuse the document, or print the number of the character. */
export const missingCharacterRules = ['refuse', 'replace'] as const;
type MissingCharacterRule = (typeof missingCharacterRules)[number];

/**
 * In: the schema of a checked attachment template. Out: whether a character that no font has is refused. Without a rule
 * in the schema, characters that the author wrote are refused, so that a label is mended before anybody sees it;
 * characters that a variable brings are replaced, so that no customer's name stops an invoice.
 */
export const refusalOf = (schema: AttachmentSchema): ((character: string) => boolean) => {
  let written: string | undefined;
  const rule: MissingCharacterRule | undefined = schema.missingCharacters;
  switch (rule) {
    case 'refuse':
      return () => true;
    case 'replace':
      return () => false;
    case undefined:
      return (character) => (written ??= JSON.stringify(schema)).includes(character);
  }
};
