/**
 * The fields of a form: which properties a component, a section, a page, a mail or a document has, in plain words and
 * in groups. The service's own specifications say which properties there are, and of which kind.
 */
import {
  type aligns,
  type ChartType,
  type CodeKind,
  type columnTypes,
  componentSpecs,
  type Direction,
  emailProps,
  type errorCorrections,
  flowProps,
  type lineStyles,
  type Operator,
  type pageBreaks,
  type PropKind,
  type PropSpecs,
  sectionProps,
  type TextDirection,
  type verticalAligns,
} from '../../service.js';
import { typeWords } from '../model.js';
import { isObject, type Json, type Place, propsOf, type Step, type Steps, typeOf, valueAt } from './place.js';

/** Kinds that only the editor knows, beside those of the service. */
type OwnKind =
  | 'rich'
  | 'label'
  | 'source'
  | 'choice'
  | 'address'
  | 'language'
  | 'timeZone'
  | 'outputs'
  | 'share'
  | 'plainText'
  | 'number';
export type Kind = PropKind | OwnKind;

export type GroupId = 'content' | 'mail' | 'text' | 'look' | 'size' | 'behaviour' | 'paper' | 'sheet';
export const groupTitles: Readonly<Record<GroupId, string>> = {
  content: 'Content',
  mail: 'Mail',
  text: 'Letters',
  look: 'Background and frame',
  size: 'Size and place',
  behaviour: 'Behaviour',
  paper: 'On paper (PDF)',
  sheet: 'In a workbook (Excel)',
};

export type Choice = Readonly<{ value: string; label: string }>;

/** `steps`: behind those of the thing that the form is of. `unset`: what holds where nothing is written. */
export type Field = Readonly<{
  name: string;
  steps: Steps;
  kind: Kind;
  label: string;
  hint?: string;
  group: GroupId;
  isRequired?: boolean;
  unset?: string | boolean;
  choices?: readonly Choice[];
}>;

/** `unset`: a text is shown in the empty control; true or false is the default of a switch. */
type Words = Readonly<{ label: string; group: GroupId; hint?: string; unset?: string | boolean }>;

/** The words of each property. `type.prop` goes before `prop`. */
export const words: Readonly<Record<string, Words>> = {
  preheader: { label: 'Preview text', group: 'mail', hint: 'Inboxes show it beside the subject.' },
  direction: { label: 'Reading direction', group: 'text', unset: 'as the language' },
  backgroundColor: { label: 'Background', group: 'look', unset: 'none' },
  'email.backgroundColor': { label: 'Background of the page', group: 'look', unset: '#f3f4f6' },
  contentBackgroundColor: { label: 'Background of the card', group: 'look', unset: '#ffffff' },
  color: { label: 'Text colour', group: 'text', unset: 'as around it' },
  'email.color': { label: 'Text colour', group: 'text', unset: '#1f2937' },
  'divider.color': { label: 'Colour of the line', group: 'look', unset: '#e5e7eb' },
  'timeline.color': { label: 'Colour of the dots', group: 'look', unset: 'as links' },
  'qr-code.color': { label: 'Colour of the code', group: 'look', unset: '#000000' },
  'qr-code.backgroundColor': { label: 'Background', group: 'look', unset: '#ffffff' },
  'series.color': { label: 'Colour', group: 'look', unset: 'of the palette' },
  'button.backgroundColor': { label: 'Background', group: 'look', unset: 'as links' },
  'button.color': { label: 'Colour of the label', group: 'look', unset: 'what can be read' },
  linkColor: { label: 'Colour of links', group: 'text', unset: 'as around it' },
  'email.linkColor': { label: 'Colour of links and buttons', group: 'text', unset: '#2563eb' },
  fontFamily: { label: 'Font', group: 'text', unset: 'as around it' },
  fontSize: { label: 'Size of the letters', group: 'text', unset: 'as around it' },
  'email.fontSize': { label: 'Size of the letters', group: 'text', unset: '16' },
  'button.fontSize': { label: 'Size of the letters', group: 'text', unset: '16' },
  lineHeight: { label: 'Height of lines', group: 'text', hint: 'A factor such as 1.5.', unset: 'as around it' },
  'email.lineHeight': { label: 'Height of lines', group: 'text', hint: 'A factor such as 1.5.', unset: '1.5' },
  width: { label: 'Width', group: 'size', unset: 'all of it' },
  'image.width': { label: 'Width', group: 'size', unset: 'of the picture' },
  'email.width': { label: 'Width of the mail', group: 'size', unset: '600' },
  'columns.width': { label: 'Width', group: 'size', unset: 'by its contents' },
  height: { label: 'Height', group: 'size', unset: 'from the width' },
  'spacer.height': { label: 'Height', group: 'size', unset: '24' },
  minHeight: {
    label: 'Least height',
    group: 'size',
    hint: 'What follows keeps its place where something is left out.',
    unset: '0',
  },
  borderRadius: { label: 'Rounded corners', group: 'look', unset: '0' },
  'email.borderRadius': { label: 'Rounded corners of the card', group: 'look', unset: '8' },
  'button.borderRadius': { label: 'Rounded corners', group: 'look', unset: '6' },
  linkBase: { label: 'Beginning of short links', group: 'behaviour', hint: 'It completes links such as /account.' },
  linkSchemes: {
    label: 'Links into apps',
    group: 'behaviour',
    hint: 'Names of schemes such as myapp, divided by commas.',
  },
  keepLines: { label: 'Keep line breaks of values', group: 'behaviour', unset: false },
  align: { label: 'Alignment', group: 'size', unset: 'as around it' },
  padding: { label: 'Space inside', group: 'size', unset: '0' },
  cellPadding: { label: 'Space in cells', group: 'size', unset: '10px 12px' },
  margin: { label: 'Space around', group: 'size', unset: '8px 0' },
  border: { label: 'Frame', group: 'look' },
  'table.border': { label: 'Lines of cells', group: 'look' },
  hideWhenEmpty: {
    label: 'Leave out if empty',
    group: 'behaviour',
    unset: false,
    hint: 'If all its variables are empty.',
  },
  'rich-text.hideWhenEmpty': { label: 'Leave out if empty', group: 'behaviour', unset: 'never' },
  'list.hideWhenEmpty': { label: 'Leave out if empty', group: 'behaviour', unset: 'never' },
  href: { label: 'Link', group: 'content' },
  fullWidth: { label: 'As wide as the mail', group: 'size', unset: false },
  src: { label: 'Picture', group: 'content' },
  alt: { label: 'Description', group: 'content', hint: 'For people who do not see the picture.' },
  dataSource: { label: 'List', group: 'content', hint: 'The list of which each item is shown.' },
  itemVariable: { label: 'Name of an item', group: 'content', hint: 'By this name its texts read it.', unset: 'item' },
  indexVariable: { label: 'Name of its number', group: 'content', hint: 'Counts from 0.' },
  rows: { label: 'Rows', group: 'content' },
  columns: { label: 'Columns', group: 'content' },
  groupBy: { label: 'Group rows by', group: 'content' },
  groupOrder: { label: 'Order of groups', group: 'content', unset: 'as they come' },
  showHeader: { label: 'Show the header', group: 'behaviour', unset: true },
  striped: { label: 'Every second row shaded', group: 'look', unset: false },
  headerBackgroundColor: { label: 'Background of the header', group: 'look', unset: 'none' },
  headerColor: { label: 'Text colour of the header', group: 'look', unset: 'as the text' },
  emptyText: { label: 'If the list is empty', group: 'content', hint: 'This text stands in its place.' },
  sheetName: { label: 'Name of the sheet', group: 'sheet', unset: 'that of the page' },
  freezeHeader: { label: 'Keep the header in sight', group: 'sheet', unset: false },
  autoFilter: { label: 'Arrows of a filter', group: 'sheet', unset: false },
  widths: { label: 'Widths of the columns', group: 'size', unset: 'equal' },
  gap: { label: 'Space between', group: 'size', unset: '16' },
  verticalAlign: { label: 'Align at', group: 'size', unset: 'top' },
  stackOnMobile: { label: 'Below each other on phones', group: 'behaviour', unset: true },
  thickness: { label: 'Thickness', group: 'size', unset: '1' },
  style: { label: 'Line', group: 'look', unset: 'solid' },
  condition: { label: 'If', group: 'content' },
  operator: { label: 'Comparison', group: 'content' },
  value: { label: 'Value', group: 'content' },
  'qr-code.value': { label: 'Content of the code', group: 'content' },
  ordered: { label: 'Numbered', group: 'content', unset: false },
  kind: { label: 'Kind of code', group: 'content', unset: 'QR code' },
  size: { label: 'Width', group: 'size', unset: '160' },
  showText: { label: 'Text below the bars', group: 'behaviour', unset: true },
  gs1: { label: 'GS1 identifiers', group: 'behaviour', unset: false },
  errorCorrection: { label: 'Readable despite damage', group: 'behaviour', unset: '15 %' },
  name: { label: 'Payee', group: 'content' },
  iban: { label: 'IBAN', group: 'content' },
  bic: { label: 'BIC', group: 'content' },
  amount: { label: 'Amount in euros', group: 'content', hint: 'Empty: the payer enters it.' },
  purpose: { label: 'Purpose code', group: 'content' },
  reference: { label: 'Creditor reference', group: 'content' },
  text: { label: 'Text for the payee', group: 'content' },
  chartType: { label: 'Kind of chart', group: 'content' },
  categoryField: { label: 'Names from', group: 'content', hint: 'The member of an item that names it.' },
  series: { label: 'Series', group: 'content' },
  title: { label: 'Title', group: 'content' },
  'timeline.title': { label: 'Title of a step', group: 'content' },
  'timelineItem.title': { label: 'Title', group: 'content' },
  showLegend: { label: 'Show the legend', group: 'behaviour', unset: 'if it is needed' },
  xTitle: { label: 'Title of the categories', group: 'content' },
  yTitle: { label: 'Title of the values', group: 'content' },
  description: { label: 'Description', group: 'content' },
  date: { label: 'Date', group: 'content' },
  status: { label: 'State', group: 'content', hint: 'Such as done, current or pending.' },
  items: { label: 'Steps', group: 'content' },
  block: { label: 'Block', group: 'content' },
  version: { label: 'Version', group: 'content' },
  variables: { label: 'Values of the block', group: 'content' },
  pageBreak: { label: 'New sheet', group: 'paper', unset: 'where it is full' },
  keepTogether: { label: 'Keep on one sheet', group: 'paper', unset: false },
  keepWithNext: { label: 'Keep with what follows', group: 'paper', unset: false },
  'columns.header': { label: 'Header', group: 'content' },
  'columns.content': { label: 'Content', group: 'content' },
  'columns.align': { label: 'Alignment', group: 'size', unset: 'by its type' },
  headerAlign: { label: 'Alignment of the header', group: 'size', unset: 'as the column' },
  format: { label: 'Format', group: 'content', unset: 'that of the variable' },
  type: { label: 'Type of its values', group: 'content', unset: 'that of the variable' },
  footer: { label: 'Footer', group: 'content' },
  groupHeader: { label: 'Above each group', group: 'content' },
  groupFooter: { label: 'Below each group', group: 'content' },
  hidden: { label: 'Hidden', group: 'sheet', unset: false },
  rules: { label: 'Colours by value', group: 'sheet' },
  'columns.hideWhenEmpty': {
    label: 'Leave out if empty',
    group: 'behaviour',
    unset: false,
    hint: 'If no row has a value in it.',
  },
  'series.name': { label: 'Name', group: 'content', unset: 'that of the member' },
  valueField: { label: 'Values from', group: 'content' },
};

export const wordsOf = (type: string, name: string): Words =>
  words[`${type}.${name}`] ?? words[name] ?? { label: name, group: 'behaviour' };

const choicesOf = (labels: Readonly<Record<string, string>>): readonly Choice[] =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

const alignChoices: Readonly<Record<(typeof aligns)[number], string>> = {
  start: 'Where lines begin',
  center: 'Centred',
  end: 'Where lines end',
  left: 'Left',
  right: 'Right',
};
const verticalChoices: Readonly<Record<(typeof verticalAligns)[number], string>> = {
  top: 'Top',
  middle: 'Middle',
  bottom: 'Bottom',
};
const lineChoices: Readonly<Record<(typeof lineStyles)[number], string>> = {
  solid: 'Solid',
  dashed: 'Dashed',
  dotted: 'Dotted',
  double: 'Double',
};
const breakChoices: Readonly<Record<(typeof pageBreaks)[number], string>> = {
  before: 'Before it',
  after: 'After it',
};
const directionChoices: Readonly<Record<Direction, string>> = { ltr: 'Left to right', rtl: 'Right to left' };
const textDirectionChoices: Readonly<Record<TextDirection, string>> = {
  ...directionChoices,
  auto: 'As its first letter',
};
const columnTypeChoices: Readonly<Record<(typeof columnTypes)[number], string>> = {
  string: 'Text',
  number: 'Number',
  boolean: 'Yes or no',
  date: 'Date',
  currency: 'Amount of money',
  percent: 'Percentage',
};
const codeChoices: Readonly<Record<CodeKind, string>> = {
  qr: 'QR code',
  ean13: 'Bar code of goods (EAN-13)',
  code128: 'Bar code (Code 128)',
  datamatrix: 'Data Matrix',
  epc: 'Payment in euros (GiroCode)',
};
const chartChoices: Readonly<Record<ChartType, string>> = {
  column: 'Columns',
  'stacked-column': 'Columns on each other',
  bar: 'Bars',
  line: 'Lines',
  area: 'Areas',
  pie: 'Pie',
  doughnut: 'Doughnut',
};
const correctionChoices: Readonly<Record<(typeof errorCorrections)[number], string>> = {
  L: '7 %',
  M: '15 %',
  Q: '25 %',
  H: '30 %',
};

/** Comparisons of a condition, as they stand between what is compared. */
export const operatorLabels: Readonly<Record<Operator, string>> = {
  '==': 'is',
  '!=': 'is not',
  '>': 'is more than',
  '>=': 'is at least',
  '<': 'is less than',
  '<=': 'is at most',
  contains: 'contains',
  startsWith: 'begins with',
  endsWith: 'ends with',
  exists: 'has a value',
  isEmpty: 'is empty',
};
/** Comparisons that look at one value. */
export const isUnary = (operator: unknown): boolean => operator === 'exists' || operator === 'isEmpty';

/** Choices of the kinds that have a list of them. */
export const choicesByKind: Readonly<Partial<Record<Kind, readonly Choice[]>>> = {
  align: choicesOf(alignChoices),
  verticalAlign: choicesOf(verticalChoices),
  lineStyle: choicesOf(lineChoices),
  pageBreak: choicesOf(breakChoices),
  direction: choicesOf(directionChoices),
  textDirection: choicesOf(textDirectionChoices),
  columnType: choicesOf(columnTypeChoices),
  codeKind: choicesOf(codeChoices),
  chartType: choicesOf(chartChoices),
  errorCorrection: choicesOf(correctionChoices),
  operator: choicesOf(operatorLabels),
  hidesLines: [
    { value: 'true', label: 'If all its variables are empty' },
    { value: 'lines', label: 'Each line whose variables are empty' },
  ],
};

/** Kinds that the service must know before it renders: they hold no variables. */
const literalKinds: ReadonlySet<Kind> = new Set<Kind>([
  ...(['linkBase', 'linkSchemes', 'fixedLength', 'columnType', 'direction', 'textDirection', 'hidesLines'] as const),
  ...(['boolean', 'operator', 'path', 'name', 'widths', 'rows', 'columns', 'rules', 'codeKind', 'chartType'] as const),
  ...(['field', 'groupOrder', 'series', 'timelineItems', 'format', 'slug', 'includedVersion'] as const),
  ...([
    'includedVariables',
    'rich',
    'source',
    'choice',
    'address',
    'language',
    'timeZone',
    'outputs',
    'share',
  ] as const),
  ...(['plainText', 'number'] as const),
]);
/** Kinds that are text with variables anyway. */
const textKinds: ReadonlySet<Kind> = new Set<Kind>(['text', 'scalar', 'link', 'image', 'label']);

/** True where a control has a switch between a value and a variable. */
export const canSwitch = (kind: Kind): boolean => !literalKinds.has(kind) && !textKinds.has(kind);

/** Members of the columns of a table, of series and of steps, which the specifications of the service list too. */
export const columnSpecs: PropSpecs = {
  header: { kind: 'text' },
  content: { kind: 'scalar' },
  type: { kind: 'columnType' },
  format: { kind: 'format' },
  width: { kind: 'length' },
  align: { kind: 'align' },
  headerAlign: { kind: 'align' },
  footer: { kind: 'text' },
  groupHeader: { kind: 'text' },
  groupFooter: { kind: 'text' },
  hideWhenEmpty: { kind: 'boolean' },
  hidden: { kind: 'boolean' },
  rules: { kind: 'rules' },
};
export const seriesSpecs: PropSpecs = {
  name: { kind: 'text' },
  valueField: { kind: 'field', required: true },
  color: { kind: 'color' },
};
export const timelineItemSpecs: PropSpecs = {
  title: { kind: 'text', required: true },
  description: { kind: 'text' },
  date: { kind: 'text' },
  status: { kind: 'text' },
};

export type Output = 'email' | 'pdf' | 'excel';
export type ContentKind = 'email' | 'attachment' | 'block';

/** The outputs that a template is for. A block is for all until a template includes it. */
export const outputsOf = (kind: ContentKind, content: Json): readonly Output[] => {
  if (kind === 'email') return ['email'];
  const formats = valueAt(content, ['schema', 'outputFormats']);
  if (kind === 'attachment' && Array.isArray(formats))
    return (['pdf', 'excel'] as const).filter((format) => formats.includes(format));
  return kind === 'attachment' ? ['pdf'] : ['email', 'pdf', 'excel'];
};

const forSheets: ReadonlySet<string> = new Set(['sheetName', 'freezeHeader', 'autoFilter', 'hidden', 'rules']);
const forPaper: ReadonlySet<string> = new Set(Object.keys(flowProps));

const isForOutput = (name: string, outputs: readonly Output[]): boolean => {
  if (forPaper.has(name)) return outputs.includes('pdf');
  if (forSheets.has(name)) return outputs.includes('excel');
  return name !== 'stackOnMobile' || outputs.includes('email');
};

/** Properties of the codes by kind; others have the properties that are not named here. */
const forPayment: ReadonlySet<string> = new Set(['name', 'iban', 'bic', 'amount', 'purpose', 'reference', 'text']);
const forBars: ReadonlySet<string> = new Set(['height', 'showText']);
const forSource: ReadonlySet<string> = new Set(['itemVariable', 'indexVariable', 'groupBy', 'groupOrder', 'emptyText']);

/** False for a property that means nothing beside the others. One that is written is always shown. */
const hasMeaning = (type: string, name: string, props: Json): boolean => {
  const has = (other: string): boolean => props[other] !== undefined;
  if (type === 'qr-code') {
    const kind = props['kind'] ?? 'qr';
    if (forPayment.has(name)) return kind === 'epc';
    if (name === 'value') return kind !== 'epc';
    if (forBars.has(name)) return kind === 'ean13' || kind === 'code128';
    if (name === 'gs1') return kind === 'code128' || kind === 'datamatrix';
    return name !== 'errorCorrection' || kind === 'qr';
  }
  if (type === 'table') {
    if (name === 'rows') return !has('dataSource');
    if (name === 'dataSource') return !has('rows');
    if (name === 'groupOrder') return has('groupBy');
    return !forSource.has(name) || has('dataSource');
  }
  if (type === 'list') return !forSource.has(name) || has('dataSource');
  if (type === 'timeline') {
    if (name === 'items') return !has('dataSource');
    if (name === 'dataSource') return !has('items');
    return !forSource.has(name) && !['title', 'description', 'date', 'status'].includes(name)
      ? true
      : has('dataSource');
  }
  return true;
};

const fieldOf = (type: string, name: string, kind: Kind, steps: Steps, isRequired?: true): Field => {
  const { label, group, hint, unset } = wordsOf(type, name);
  const choices = choicesByKind[kind];
  return {
    ...{ name, steps, kind, label, group },
    ...(hint === undefined ? {} : { hint }),
    ...(unset === undefined ? {} : { unset }),
    ...(choices === undefined ? {} : { choices }),
    ...(isRequired === undefined ? {} : { isRequired }),
  };
};

/** In: specifications, and the words that they are told in. Out: a field for each, in the order of the groups. */
export const fieldsOfSpecs = (type: string, specs: PropSpecs, steps: Steps = []): readonly Field[] =>
  Object.entries(specs).map(([name, { kind, required }]) => fieldOf(type, name, kind, [...steps, name], required));

export const isComponentType = (type: string): type is keyof typeof componentSpecs =>
  Object.hasOwn(componentSpecs, type);

/** Components whose form is not a list of properties. */
const ownForms: ReadonlySet<string> = new Set(['conditional', 'include']);

const contentField = (type: string): Field => {
  const common = { name: 'content', steps: ['content'], group: 'content' as const, isRequired: true };
  if (type === 'button') return { ...common, kind: 'label', label: 'Label' };
  if (type === 'html-fragment') return { ...common, kind: 'source', label: 'HTML' };
  return { ...common, kind: 'rich', label: type === 'list' ? 'Content' : 'Text' };
};

/** The width of a component that is a column of another one. */
const columnField = ({ parents }: Place): readonly Field[] => {
  const parent = parents.at(-1);
  return parent === undefined || typeOf(parent.node) !== 'columns'
    ? []
    : [{ name: 'share', steps: [], kind: 'share', label: 'Width of this column', group: 'size', unset: 'equal' }];
};

const fieldsOfComponent = (place: Place, outputs: readonly Output[]): readonly Field[] => {
  const type = typeOf(place.node);
  if (!isComponentType(type)) return [];
  const { content, props } = componentSpecs[type];
  const given = propsOf(place.node);
  const fields = fieldsOfSpecs(type, props, ['props']).filter(
    ({ name }) => given[name] !== undefined || (isForOutput(name, outputs) && hasMeaning(type, name, given)),
  );
  return [
    ...(content === 'required' ? [contentField(type)] : []),
    ...(ownForms.has(type) ? fields.filter(({ group }) => group !== 'content') : fields),
    ...columnField(place),
  ];
};

const own = (
  kind: Kind,
  label: string,
  group: GroupId,
  steps: Steps,
  more: Partial<Pick<Field, 'hint' | 'unset' | 'choices' | 'isRequired'>> = {},
): Field => ({ name: String(steps.at(-1)), steps, kind, label, group, ...more });

const sectionFields: readonly Field[] = [
  own('choice', 'Kind of section', 'content', ['type'], {
    choices: choicesOf({ header: 'Header, above the card', main: 'On the card', footer: 'Footer, small and grey' }),
  }),
  ...fieldsOfSpecs('section', sectionProps, ['props']),
];

const mailFields: readonly Field[] = [
  own('text', 'Subject', 'mail', ['subject'], { isRequired: true }),
  ...fieldsOfSpecs('email', emailProps, ['schema', 'props']),
  own('plainText', 'Name of the sender', 'mail', ['from', 'name'], { unset: 'that of the team' }),
  own('address', 'Address of the sender', 'mail', ['from', 'email'], { unset: 'that of the team' }),
  own('plainText', 'Unsubscribe list', 'mail', ['unsubscribeList'], {
    hint: 'The name of the list that recipients leave by the link at the foot.',
    unset: 'none',
  }),
];

const languageFields: readonly Field[] = [
  own('language', 'Language', 'behaviour', ['locale'], { hint: 'Such as en-GB or pt.', unset: 'en-US' }),
  own('timeZone', 'Time zone', 'behaviour', ['timeZone'], { unset: 'UTC' }),
];
const strictField = own('boolean', 'Refuse to send without a value', 'behaviour', ['strictVariables'], {
  hint: 'A mail that would show an empty variable is not sent.',
  unset: false,
});

const paperFormats = choicesOf({ A4: 'A4', Letter: 'Letter', Legal: 'Legal', A3: 'A3', A5: 'A5', Tabloid: 'Tabloid' });
const at = (...steps: readonly Step[]): Steps => ['pageSettings', ...steps];

const partFields = (label: string, name: string, group: GroupId = 'content'): readonly Field[] => [
  own('rich', label, group, at(name, 'content'), { hint: 'Page numbers are {{pageNumber}} and {{totalPages}}.' }),
  own('align', `${label}: alignment`, group, at(name, 'align'), { unset: 'centred', choices: choicesOf(alignChoices) }),
  own('size', `${label}: height`, group, at(name, 'height'), { unset: '30' }),
];

const pageFields: readonly Field[] = [
  own('text', 'Name of the page', 'content', ['pageName']),
  own('choice', 'Paper', 'size', at('format'), { choices: paperFormats, unset: 'A4' }),
  own('choice', 'Orientation', 'size', at('orientation'), {
    choices: choicesOf({ portrait: 'Portrait', landscape: 'Landscape' }),
    unset: 'Portrait',
  }),
  ...(['top', 'right', 'bottom', 'left'] as const).map((side) =>
    own('fixedLength', `Margin ${side}`, 'size', at('margin', side), { unset: '15 mm' }),
  ),
  own('direction', 'Reading direction', 'text', at('direction'), {
    unset: 'as the language',
    choices: choicesOf(directionChoices),
  }),
  own('color', 'Background', 'look', at('backgroundColor'), { unset: '#ffffff' }),
  own('image', 'Picture behind everything', 'look', at('backgroundImage', 'src')),
  own('text', 'Watermark', 'look', at('watermark', 'text')),
  own('color', 'Colour of the watermark', 'look', at('watermark', 'color'), { unset: '#e5e7eb' }),
  ...partFields('Header', 'header'),
  ...partFields('Footer', 'footer'),
  ...partFields('Header of the first sheet', 'firstPageHeader', 'paper'),
  ...partFields('Footer of the first sheet', 'firstPageFooter', 'paper'),
  own('boolean', 'As wide as the paper', 'sheet', at('sheet', 'fitToWidth'), { unset: true }),
  own('boolean', 'Lines between cells', 'sheet', at('sheet', 'gridLines'), { unset: false }),
  own('boolean', 'Hidden sheet', 'sheet', at('sheet', 'hidden'), { unset: false }),
];

/** Pages of the settings that are for one output alone. */
const isForPage = ({ group }: Field, outputs: readonly Output[]): boolean =>
  group === 'sheet' ? outputs.includes('excel') : group === 'paper' ? outputs.includes('pdf') : true;

export type Form = Readonly<{ title: string; steps: Steps; fields: readonly Field[] }>;

/** The form of a place; without one, that of the whole mail, document or block. */
export const formOf = (kind: ContentKind, content: Json, place: Place | undefined): Form => {
  const outputs = outputsOf(kind, content);
  if (place?.what === 'component')
    return {
      title: isComponentType(typeOf(place.node))
        ? typeWords[typeOf(place.node) as keyof typeof typeWords]
        : typeOf(place.node),
      steps: place.steps,
      fields: fieldsOfComponent(place, outputs),
    };
  if (place?.what === 'section')
    return {
      title: 'Section',
      steps: place.steps,
      // The kind of a section has no effect in a document, and a slot has only its place.
      fields: typeOf(place.node) === 'slot' ? [] : kind === 'email' ? sectionFields : sectionFields.slice(1),
    };
  if (place?.what === 'page')
    return { title: 'Page', steps: place.steps, fields: pageFields.filter((field) => isForPage(field, outputs)) };
  if (kind === 'email') return { title: 'Mail', steps: [], fields: [...mailFields, ...languageFields, strictField] };
  if (kind === 'attachment')
    return {
      title: 'Document',
      steps: [],
      fields: [
        own('text', 'Name of the file', 'content', ['name'], { isRequired: true }),
        own('outputs', 'Files', 'content', ['schema', 'outputFormats']),
        ...languageFields,
      ],
    };
  const isLayout = isObject(content['schema']) && content['schema']['sections'] !== undefined;
  return {
    title: isLayout ? 'Layout' : 'Block',
    steps: [],
    fields: [
      ...(isLayout
        ? fieldsOfSpecs('email', emailProps, ['schema', 'props']).filter(({ name }) => name !== 'preheader')
        : []),
      languageFields[0]!,
    ],
  };
};

/** In: fields. Out: the same by group, in the order of the groups. */
export const groupsOf = (fields: readonly Field[]): readonly (readonly [GroupId, readonly Field[]])[] =>
  (Object.keys(groupTitles) as GroupId[])
    .map((group) => [group, fields.filter((field) => field.group === group)] as const)
    .filter(([, members]) => members.length > 0);
