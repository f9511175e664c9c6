/** Components and sections as JSON schemas, from the table that the check goes by. */
import type { Json, JsonObject } from '../../domain/core/json.js';
import { epcProps } from '../../domain/rendering/codes.js';
import { kindsOfProps } from '../../domain/rendering/check/codes.js';
import { ID_CHARS_MAX, type componentFields, type sectionFields } from '../../domain/rendering/check/components.js';
import {
  componentSpecs,
  isSupported,
  sectionProps,
  supportMatrix,
  isComponentType,
  type ComponentsOf,
  type ComponentType,
  type Output,
} from '../../domain/rendering/components.js';
import { isUnary, operators } from '../../domain/rendering/scope/conditions.js';
import { sectionTypes } from '../../domain/rendering/content.js';
import { propsOf, type Medium } from './json-schema-props.js';
import { closedObject, described, given, text, where, without, words, type Refer } from './parts.js';

const outputsOf: Readonly<Record<Medium['name'], readonly Output[]>> = { Email: ['email'], Document: ['pdf', 'excel'] };

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
};

/** The components that at least one output of the medium shows. */
export const typesOf = ({ name }: Medium): readonly ComponentsOf<Output>[] =>
  Object.keys(supportMatrix).flatMap((type): ComponentsOf<Output>[] =>
    isComponentType(type) && outputsOf[name].some((output) => isSupported(type, output)) ? [type] : [],
  );

/** `EmailRichTextComponent`, `DocumentQrCodeComponent`. */
export const nameOfComponent = (type: ComponentType, { name }: Medium): string =>
  `${name}${type.replace(/(?:^|-)([a-z])/g, (_all, letter: string) => letter.toUpperCase())}Component`;

/** What the props of a component say about each other. */
const rules: Readonly<Partial<Record<ComponentType, readonly JsonObject[]>>> = {
  conditional: [given(where('operator', words(operators.filter(isUnary))), {}, { required: ['value'] })],
  table: [
    given({ required: ['dataSource'] }, { ...without(['rows']), required: ['columns'] }, { required: ['rows'] }),
    given({ required: ['dataSource'] }, { properties: { columns: { items: { required: ['content'] } } } }),
  ],
  timeline: [given({ required: ['dataSource'] }, { ...without(['items']), required: ['title'] }, { required: ['items'] })],
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
        Object.entries(members).flatMap(([name, member]): [string, Json][] => (member === undefined ? [] : [[name, member]])),
      ),
      ['id', 'type', ...(members.content ? ['content'] : []), ...(asks ? ['props'] : []), ...(members.children ? ['children'] : [])],
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
  return described(closedObject(members, ['id', 'type', 'components']), 'A part of a page, with components one below the other');
};

/** Of both media. */
export const componentId: JsonObject = described(text(ID_CHARS_MAX), 'A name of one’s own, unique in the template, sections included');

/** The definitions of the components and sections of one medium, and of the union of them all. */
export const componentDefinitions = (medium: Medium, refer: Refer): JsonObject => ({
  [`${medium.name}Section`]: section(medium, refer),
  [`${medium.name}Component`]: described(
    { oneOf: typesOf(medium).map((type) => refer(nameOfComponent(type, medium))) },
    `A component of ${medium.name === 'Email' ? 'an email' : 'a document; each of its outputFormats must have it'}`,
  ),
  ...Object.fromEntries(typesOf(medium).map((type): [string, Json] => [nameOfComponent(type, medium), component(type, medium, refer)])),
});
