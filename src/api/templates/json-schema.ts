/**
 * Templates as JSON schemas, for editors and for the API description: derived from the tables that the check goes by.
 * The schemas take what the check takes, but for `null` in place of a field that is left out; they never refuse what
 * the service would save. Requests are not checked by them, because the check names faults better.
 */
import type { TObject } from '@sinclair/typebox';
import {
  backgroundFits,
  backgroundSheets,
  orientations,
  outputFormats,
  pageFormats,
  missingCharacterRules,
  sectionTypes,
} from '../../domain/rendering/content.js';
import type { Json, JsonObject } from '../../domain/core/json.js';
import {
  PAGE_NAME_CHARS_MAX,
  type pageFields,
  type schemaFields,
  backgroundSpecs,
  headerSpecs,
  marginSpecs,
  PRINT_AREA,
  settingSpecs,
  sheetSpecs,
  contentsSpecs,
  watermarkSpecs,
  type settingFields,
  FAMILY,
  FAMILY_CHARS_MAX,
  FONTS_MAX,
  type fontFields,
} from '../../domain/rendering/check/document.js';
import {
  componentSpecs,
  emailProps,
  isSupported,
  layoutProps,
  sectionProps,
  supportMatrix,
  isComponentType,
  type ComponentsOf,
  type ComponentType,
  type Output,
} from '../../domain/rendering/components.js';
import { directions } from '../../domain/rendering/direction.js';
import { aligns, type PropSpecs, type PropKind } from '../../domain/rendering/props.js';
import {
  propsOf,
  type Medium,
  closedObject,
  described,
  VISIBLE,
  words,
  type Refer,
  given,
  text,
  where,
  without,
  columnOf,
  kindsOfMedium,
  nameOfKind,
  sharedKinds,
  valueDefinitions,
} from './json-schema-props.js';
import { epcProps } from '../../domain/rendering/codes.js';
import {
  kindsOfProps,
  ID_CHARS_MAX,
  type componentFields,
  type sectionFields,
} from '../../domain/rendering/check/components.js';
import { isUnary, operators } from '../../domain/rendering/scope/conditions.js';
import { defaultLimits } from '../../domain/core/limits.js';
import { documentMedia, mailMedia } from '../../domain/rendering/lengths.js';
import {
  CreateAttachmentTemplateRequestSchema,
  CreateBlockRequestSchema,
  CreateTemplateRequestSchema,
} from './templates.js';

const kindDefinitions = (medium: Medium, kinds: Readonly<Partial<Record<PropKind, JsonObject>>>): JsonObject =>
  Object.fromEntries(
    Object.entries(kinds).map(([kind, schema]): [string, Json] => [nameOfKind(kind as PropKind, medium), schema]),
  );

const emailDefinitions = (refer: Refer): JsonObject => ({
  EmailContent: emailContent(email, refer),
  ...componentDefinitions(email, refer),
  EmailColumn: columnOf(email, refer),
  ...kindDefinitions(email, kindsOfMedium(email, refer)),
});

const documentDefinitions = (refer: Refer): JsonObject => ({
  ...documentContent(document, refer),
  ...componentDefinitions(document, refer),
  DocumentColumn: columnOf(document, refer),
  ...kindDefinitions(document, kindsOfMedium(document, refer)),
});

/** A block holds what an email shows, or what a document shows, or what both do. */
const blockDefinitions = (refer: Refer): JsonObject => {
  const pieces = [email, document].map(({ name }) =>
    closedObject({ components: { type: 'array', minItems: 1, items: refer(`${name}Component`) } }, ['components']),
  );
  const layouts = [email, document].map((medium) =>
    closedObject(
      {
        sections: { type: 'array', items: { anyOf: [refer(`${medium.name}Section`), refer('LayoutSlot')] } },
        ...(medium === email ? { props: propsOf(emailProps, email, refer) } : {}),
      },
      ['sections'],
    ),
  );
  return {
    BlockContent: described({ anyOf: [...pieces, ...layouts] }, 'Components of a piece, or sections of a layout'),
    LayoutSlot: described(
      closedObject({ id: refer('ComponentId'), type: { const: 'slot' } }, ['id', 'type']),
      'Stands in a layout where the sections of a template are shown',
    ),
  };
};

const sharedDefinitions = (refer: Refer): JsonObject => ({
  ...valueDefinitions(refer),
  ComponentId: componentId,
  ...kindDefinitions(email, sharedKinds(email, refer)),
});

export const templateKinds = ['email', 'attachment', 'block'] as const;

const email: Medium = { name: 'Email', media: mailMedia, columnsMax: mailMedia.columnsMax };
const document: Medium = {
  name: 'Document',
  media: documentMedia(defaultLimits.excelColumnsMax),
  columnsMax: undefined,
};

/** All definitions of both kinds of templates. */
export const templateDefinitions = (refer: Refer): JsonObject => ({
  ...emailDefinitions(refer),
  ...documentDefinitions(refer),
  ...blockDefinitions(refer),
  ...sharedDefinitions(refer),
});

/** Schemas in place of the parts of a body that the service checks one by one. */
export const bodyMembers = (kind: TemplateKind, refer: Refer): JsonObject => ({
  variables: described({ type: 'array', items: refer('Variable') }, 'A plain array of variable definitions'),
  schema: refer(contents[kind]),
  translations: refer('Translations'),
});

export type TemplateKind = (typeof templateKinds)[number];

const contents: Readonly<Record<TemplateKind, string>> = {
  email: 'EmailContent',
  attachment: 'DocumentContent',
  block: 'BlockContent',
};

const bodies: Readonly<Record<TemplateKind, TObject>> = {
  email: CreateTemplateRequestSchema,
  attachment: CreateAttachmentTemplateRequestSchema,
  block: CreateBlockRequestSchema,
};
const titles: Readonly<Record<TemplateKind, string>> = {
  email: 'Template of an email, for sealpost',
  attachment: 'Attachment template, for sealpost',
  block: 'Block of mails and documents, for sealpost',
};

/** The body that makes a template, as the JSON schema of a file: for editors. */
export const templateJsonSchema = (kind: TemplateKind): JsonObject => {
  const refer: Refer = (name) => ({ $ref: `#/definitions/${name}` });
  const body = JSON.parse(JSON.stringify(bodies[kind])) as JsonObject;
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: titles[kind],
    ...body,
    properties: { ...(body['properties'] as JsonObject), ...bodyMembers(kind, refer) },
    definitions: used(contents[kind], {
      ...(kind === 'attachment' ? {} : emailDefinitions(refer)),
      ...(kind === 'email' ? {} : documentDefinitions(refer)),
      ...(kind === 'block' ? blockDefinitions(refer) : {}),
      ...sharedDefinitions(refer),
    }),
  };
};

const bodyDefinitions = new Set(['Variable', 'Translations']);

/** The definitions that another one, or the body, refers to. */
const used = (content: string, definitions: JsonObject): JsonObject => {
  const whole = JSON.stringify(definitions);
  return Object.fromEntries(
    Object.entries(definitions).filter(
      ([name]) => name === content || bodyDefinitions.has(name) || whole.includes(`"#/definitions/${name}"`),
    ),
  );
};

/** JSON schema of `schema` of an email template. */
const emailContent = (medium: Medium, refer: Refer): JsonObject =>
  described(
    closedObject(
      {
        sections: { type: 'array', minItems: 1, items: refer('EmailSection') },
        props: described(propsOf(emailProps, medium, refer), 'Settings of the whole email'),
        layout: described(propsOf(layoutProps, medium, refer), 'The block around the sections'),
      },
      ['sections'],
    ),
    'Layout of an email',
  );

/** Props from a table, with members beside them that only take certain words. */
const withMembers = (specs: PropSpecs, medium: Medium, refer: Refer, members: JsonObject): JsonObject => {
  const props = propsOf(specs, medium, refer);
  return { ...props, properties: { ...(props['properties'] as JsonObject), ...members } };
};

const settings = (medium: Medium, refer: Refer): JsonObject => {
  const margin = withMembers(headerSpecs, medium, refer, {
    align: words(aligns),
    code: described(
      propsOf(componentSpecs['qr-code'].props, medium, refer),
      'The props of a qr-code, in a PDF beside the content',
    ),
  });
  const members: Readonly<Record<(typeof settingFields)[number], Json>> = {
    format: words(pageFormats),
    orientation: words(orientations),
    direction: words(directions),
    margin: propsOf(marginSpecs, medium, refer),
    ...(propsOf(settingSpecs, medium, refer)['properties'] as Readonly<{ backgroundColor: Json }>),
    backgroundImage: withMembers(backgroundSpecs, medium, refer, {
      fit: words(backgroundFits),
      sheets: words(backgroundSheets),
    }),
    watermark: propsOf(watermarkSpecs, medium, refer),
    contents: withMembers(contentsSpecs, medium, refer, { levels: { type: 'integer', minimum: 1, maximum: 6 } }),
    sheet: withMembers(sheetSpecs, medium, refer, { printArea: { type: 'string', pattern: PRINT_AREA.source } }),
    header: margin,
    footer: margin,
    firstPageHeader: margin,
    firstPageFooter: margin,
  };
  return closedObject(members);
};

/** JSON schema of `schema` of an attachment template, and of its pages. */
const documentContent = (medium: Medium, refer: Refer): JsonObject => {
  const page: Readonly<Record<(typeof pageFields)[number], JsonObject>> = {
    pageId: refer('ComponentId'),
    pageName: described(
      { type: 'string', pattern: VISIBLE, maxLength: PAGE_NAME_CHARS_MAX },
      'In a workbook the name of the sheet',
    ),
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
    outputFormats: {
      type: 'array',
      minItems: 1,
      maxItems: outputFormats.length,
      uniqueItems: true,
      items: words(outputFormats),
    },
    pages: { type: 'array', minItems: 1, items: refer('DocumentPage') },
    layout: described(propsOf(layoutProps, medium, refer), 'The block around the sections of each page'),
    missingCharacters: described(words(missingCharacterRules), 'Handling of a character that no font of a PDF has'),
    fonts: described(
      { type: 'array', maxItems: FONTS_MAX, items: closedObject(font, ['family', 'regular']) },
      'Fonts of the gallery that fontFamily names in a PDF',
    ),
  };
  return {
    DocumentContent: described(closedObject(members, ['outputFormats', 'pages']), 'Layout of a document'),
    DocumentPage: described(
      closedObject(page, ['pageId', 'pageName', 'sections']),
      'Begins on a new sheet of paper; a sheet of a workbook',
    ),
    DocumentPageSettings: described(settings(medium, refer), 'Paper, margins, header and footer of a page'),
  };
};

const descriptions: Readonly<Record<ComponentsOf<Output>, string>> = {
  'rich-text': 'Headings, paragraphs, lists, links, emphasis, as HTML in content',
  button: 'A link that looks like a button; content is its label',
  image: 'A picture',
  table: 'A row for each item of dataSource, or rows that are written out',
  container: 'A box around other components, with a background or a border',
  columns: 'Components beside each other, one column for each',
  divider: 'A line across',
  spacer: 'Empty space',
  conditional: 'Shows children where a condition holds, else elseChildren',
  loop: 'Shows children once for each item of dataSource',
  list: 'A line for each item of dataSource, or an HTML list in content',
  'qr-code': 'A QR code, a bar code or a payment code',
  'html-fragment': 'HTML of one’s own, sanitised',
  chart: 'Bars, lines or parts of a whole, one for each item of dataSource',
  timeline: 'Steps with their dates and where one stands',
  include: 'A block, with values for its variables',
};

const outputsOf: Readonly<Record<Medium['name'], readonly Output[]>> = { Email: ['email'], Document: ['pdf', 'excel'] };

/** The components that at least one output of the medium shows. */
const typesOf = ({ name }: Medium): readonly ComponentsOf<Output>[] =>
  Object.keys(supportMatrix).flatMap((type): ComponentsOf<Output>[] =>
    isComponentType(type) && outputsOf[name].some((output) => isSupported(type, output)) ? [type] : [],
  );

/** `EmailRichTextComponent`, `DocumentQrCodeComponent`. */
const nameOfComponent = (type: ComponentType, { name }: Medium): string =>
  `${name}${type.replace(/(?:^|-)([a-z])/g, (_all, letter: string) => letter.toUpperCase())}Component`;

/** Rules between the props of one component. */
const rules: Readonly<Partial<Record<ComponentType, readonly JsonObject[]>>> = {
  conditional: [given(where('operator', words(operators.filter(isUnary))), {}, { required: ['value'] })],
  table: [
    given({ required: ['dataSource'] }, { ...without(['rows']), required: ['columns'] }, { required: ['rows'] }),
    given(
      { required: ['dataSource'] },
      { properties: { columns: { items: { required: ['content'] } } } },
      without(['groupBy']),
    ),
    given(
      { required: ['groupBy'] },
      {},
      { properties: { groupOrder: false, columns: { items: without(['groupHeader', 'groupFooter']) } } },
    ),
  ],
  timeline: [
    given({ required: ['dataSource'] }, { ...without(['items']), required: ['title'] }, { required: ['items'] }),
  ],
  'qr-code': [
    given(where('kind', words(['epc'])), { required: ['name', 'iban'] }, { ...without(epcProps), required: ['value'] }),
    ...Object.entries(kindsOfProps).flatMap(([prop, kinds]): JsonObject[] =>
      epcProps.some((known) => known === prop)
        ? []
        : [
            given(
              kinds.includes('qr') ? { ...where('kind', { not: words(kinds) }) } : { not: where('kind', words(kinds)) },
              without([prop]),
            ),
          ],
    ),
  ],
};

const component = (type: ComponentsOf<Output>, medium: Medium, refer: Refer): JsonObject => {
  const spec = componentSpecs[type];
  const children = (atLeast: number): JsonObject => ({
    type: 'array',
    ...(atLeast === 0 ? {} : { minItems: atLeast }),
    items: refer(`${medium.name}Component`),
  });
  const props = propsOf(spec.props, medium, refer);
  const bound = rules[type];
  const members: Readonly<Record<(typeof componentFields)[number], JsonObject | undefined>> = {
    id: refer('ComponentId'),
    type: { const: type },
    content: spec.content === 'required' ? described(text(), 'HTML, which may hold {{…}}') : undefined,
    props: bound === undefined ? props : { ...props, allOf: bound },
    children: spec.children === 'none' ? undefined : children(spec.children === 'atLeastOne' ? 1 : 0),
    elseChildren: spec.elseChildren === true ? children(0) : undefined,
  };
  const asks = bound !== undefined || props['required'] !== undefined;
  return described(
    closedObject(
      Object.fromEntries(
        Object.entries(members).flatMap(([name, member]): [string, Json][] =>
          member === undefined ? [] : [[name, member]],
        ),
      ),
      [
        'id',
        'type',
        ...(members.content ? ['content'] : []),
        ...(asks ? ['props'] : []),
        ...(members.children ? ['children'] : []),
      ],
    ),
    descriptions[type],
  );
};

const section = (medium: Medium, refer: Refer): JsonObject => {
  const members: Readonly<Record<(typeof sectionFields)[number], JsonObject>> = {
    id: refer('ComponentId'),
    type: words(sectionTypes),
    props: propsOf(sectionProps, medium, refer),
    components: { type: 'array', items: refer(`${medium.name}Component`) },
  };
  return described(
    closedObject(members, ['id', 'type', 'components']),
    'A part of a page, with components one below the other',
  );
};

/** Id of a component or section, in both media. */
const componentId: JsonObject = described(
  text(ID_CHARS_MAX),
  'A name of one’s own, unique in the template, sections included',
);

/** The definitions of the components and sections of one medium, and of the union of them all. */
const componentDefinitions = (medium: Medium, refer: Refer): JsonObject => ({
  [`${medium.name}Section`]: section(medium, refer),
  [`${medium.name}Component`]: described(
    { oneOf: typesOf(medium).map((type) => refer(nameOfComponent(type, medium))) },
    `A component of ${medium.name === 'Email' ? 'an email' : 'a document; each of its outputFormats must have it'}`,
  ),
  ...Object.fromEntries(
    typesOf(medium).map((type): [string, Json] => [nameOfComponent(type, medium), component(type, medium, refer)]),
  ),
});
