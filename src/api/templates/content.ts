/** What stands under `schema`, as JSON schemas: the sections of an email, the pages of a document. */
import { backgroundFits, backgroundSheets, orientations, outputFormats, pageFormats } from '../../domain/rendering/document-content.js';
import type { Json, JsonObject } from '../../domain/core/json.js';
import { PAGE_NAME_CHARS_MAX, type pageFields, type schemaFields } from '../../domain/rendering/check/document.js';
import {
  backgroundSpecs,
  headerSpecs,
  marginSpecs,
  PRINT_AREA,
  settingSpecs,
  sheetSpecs,
  watermarkSpecs,
  type settingFields,
} from '../../domain/rendering/check/page-settings.js';
import { FAMILY, FAMILY_CHARS_MAX, FONTS_MAX, type fontFields } from '../../domain/rendering/check/fonts.js';
import { componentSpecs, emailProps } from '../../domain/rendering/components.js';
import { directions } from '../../domain/rendering/direction.js';
import { missingCharacterRules } from '../../domain/rendering/missing-characters.js';
import { aligns, type PropSpecs } from '../../domain/rendering/props.js';
import { propsOf, type Medium } from './json-schema-props.js';
import { closedObject, described, VISIBLE, words, type Refer } from './parts.js';

/** What stands under `schema` of an email template. */
export const emailContent = (medium: Medium, refer: Refer): JsonObject =>
  described(
    closedObject(
      {
        sections: { type: 'array', minItems: 1, items: refer('EmailSection') },
        props: described(propsOf(emailProps, medium, refer), 'What concerns the whole email'),
      },
      ['sections'],
    ),
    'What an email looks like',
  );

/** Props from a table, with members beside them that only take certain words. */
const withMembers = (specs: PropSpecs, medium: Medium, refer: Refer, members: JsonObject): JsonObject => {
  const props = propsOf(specs, medium, refer);
  return { ...props, properties: { ...(props['properties'] as JsonObject), ...members } };
};

const settings = (medium: Medium, refer: Refer): JsonObject => {
  const margin = withMembers(headerSpecs, medium, refer, {
    align: words(aligns),
    code: described(propsOf(componentSpecs['qr-code'].props, medium, refer), 'The props of a qr-code, in a PDF beside the content'),
  });
  const members: Readonly<Record<(typeof settingFields)[number], Json>> = {
    format: words(pageFormats),
    orientation: words(orientations),
    direction: words(directions),
    margin: propsOf(marginSpecs, medium, refer),
    ...(propsOf(settingSpecs, medium, refer)['properties'] as Readonly<{ backgroundColor: Json }>),
    backgroundImage: withMembers(backgroundSpecs, medium, refer, { fit: words(backgroundFits), sheets: words(backgroundSheets) }),
    watermark: propsOf(watermarkSpecs, medium, refer),
    sheet: withMembers(sheetSpecs, medium, refer, { printArea: { type: 'string', pattern: PRINT_AREA.source } }),
    header: margin,
    footer: margin,
    firstPageHeader: margin,
    firstPageFooter: margin,
  };
  return closedObject(members);
};

/** What stands under `schema` of an attachment template, and its pages. */
export const documentContent = (medium: Medium, refer: Refer): JsonObject => {
  const page: Readonly<Record<(typeof pageFields)[number], JsonObject>> = {
    pageId: refer('ComponentId'),
    pageName: described({ type: 'string', pattern: VISIBLE, maxLength: PAGE_NAME_CHARS_MAX }, 'In a workbook the name of the sheet'),
    pageSettings: refer('DocumentPageSettings'),
    sections: { type: 'array', minItems: 1, items: refer('DocumentSection') },
  };
  const file = described(
    { type: 'string', pattern: '^asset:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$' },
    'A TTF or OTF font of the gallery',
  );
  const font: Readonly<Record<(typeof fontFields)[number], JsonObject>> = {
    family: { type: 'string', pattern: FAMILY.source, maxLength: FAMILY_CHARS_MAX },
    regular: file,
    bold: file,
    italic: file,
    boldItalic: file,
  };
  const members: Readonly<Record<(typeof schemaFields)[number], JsonObject>> = {
    outputFormats: { type: 'array', minItems: 1, maxItems: outputFormats.length, uniqueItems: true, items: words(outputFormats) },
    pages: { type: 'array', minItems: 1, items: refer('DocumentPage') },
    missingCharacters: described(words(missingCharacterRules), 'What becomes of a character that no font of a PDF has'),
    fonts: described(
      { type: 'array', maxItems: FONTS_MAX, items: closedObject(font, ['family', 'regular']) },
      'Fonts of the gallery that fontFamily names in a PDF',
    ),
  };
  return {
    DocumentContent: described(closedObject(members, ['outputFormats', 'pages']), 'What a document looks like'),
    DocumentPage: described(
      closedObject(page, ['pageId', 'pageName', 'sections']),
      'Begins on a new sheet of paper; a sheet of a workbook',
    ),
    DocumentPageSettings: described(settings(medium, refer), 'Paper, margins, header and footer of a page'),
  };
};
