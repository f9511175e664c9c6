/**
 * The components of the contract: which output knows which (the support matrix), and what each may carry. To add one to
 * an output: say so in the matrix, describe it in `componentSpecs`, give the output's registry a renderer for it; the
 * types refuse to compile until all three agree.
 */
import type { PropSpecs } from './props.js';

type Support = 'yes' | 'no' | /** The contract has it, this version does not. */ 'later';
type Row = Readonly<{ email: Support; pdf: Support; excel: Support }>;

export const supportMatrix = {
  'rich-text': { email: 'yes', pdf: 'yes', excel: 'yes' },
  button: { email: 'yes', pdf: 'no', excel: 'no' },
  image: { email: 'yes', pdf: 'yes', excel: 'yes' },
  table: { email: 'yes', pdf: 'yes', excel: 'yes' },
  container: { email: 'yes', pdf: 'yes', excel: 'no' },
  columns: { email: 'yes', pdf: 'yes', excel: 'no' },
  divider: { email: 'yes', pdf: 'yes', excel: 'no' },
  spacer: { email: 'yes', pdf: 'yes', excel: 'no' },
  conditional: { email: 'yes', pdf: 'yes', excel: 'yes' },
  loop: { email: 'yes', pdf: 'yes', excel: 'yes' },
  list: { email: 'yes', pdf: 'yes', excel: 'no' },
  'qr-code': { email: 'yes', pdf: 'yes', excel: 'no' },
  'html-fragment': { email: 'yes', pdf: 'no', excel: 'no' },
  chart: { email: 'no', pdf: 'yes', excel: 'yes' },
  timeline: { email: 'yes', pdf: 'yes', excel: 'no' },
  include: { email: 'yes', pdf: 'yes', excel: 'yes' },
} as const satisfies Record<string, Row>;

export type ComponentType = keyof typeof supportMatrix;
export type Output = keyof Row;

/** The components that an output can show now. */
export type ComponentsOf<O extends Output> = O extends Output
  ? { [T in ComponentType]: (typeof supportMatrix)[T][O] extends 'yes' ? T : never }[ComponentType]
  : never;

export const isComponentType = (type: unknown): type is ComponentType =>
  typeof type === 'string' && Object.hasOwn(supportMatrix, type);

/** True where the output shows the type now. */
export const isSupported = <O extends Output>(type: ComponentType, output: O): type is ComponentsOf<O> =>
  supportMatrix[type][output] === 'yes';

export type ComponentSpec = Readonly<{
  /** `html` is sanitised when it is rendered; all contents may hold `{{…}}`. */
  content: 'required' | 'none';
  children: 'any' | 'atLeastOne' | 'none';
  elseChildren?: true;
  props: PropSpecs;
}>;

/** Props that control where the sheets of a PDF end; mails and workbooks have no sheets of paper. */
export const flowProps = {
  pageBreak: { kind: 'pageBreak' },
  keepTogether: { kind: 'boolean' },
  keepWithNext: { kind: 'boolean' },
} as const satisfies PropSpecs;

/** Line breaks in values of text are kept; without it they are blanks. */
const textLines = { keepLines: { kind: 'boolean' } } as const satisfies PropSpecs;

const blockText = {
  ...textLines,
  align: { kind: 'align' },
  direction: { kind: 'textDirection' },
  color: { kind: 'color' },
  fontSize: { kind: 'size' },
  fontFamily: { kind: 'fontFamily' },
  lineHeight: { kind: 'lineHeight' },
  padding: { kind: 'box' },
  backgroundColor: { kind: 'color' },
} as const satisfies PropSpecs;

export const componentSpecs: Readonly<Record<ComponentsOf<Output>, ComponentSpec>> = {
  'rich-text': {
    content: 'required',
    children: 'none',
    props: { ...blockText, ...flowProps, hideWhenEmpty: { kind: 'hidesLines' } },
  },
  button: {
    content: 'required',
    children: 'none',
    props: {
      hideWhenEmpty: { kind: 'boolean' },
      href: { kind: 'link', required: true },
      backgroundColor: { kind: 'color' },
      color: { kind: 'color' },
      borderRadius: { kind: 'size' },
      border: { kind: 'border' },
      padding: { kind: 'box' },
      align: { kind: 'align' },
      fullWidth: { kind: 'boolean' },
      fontSize: { kind: 'size' },
      fontFamily: { kind: 'fontFamily' },
    },
  },
  image: {
    content: 'none',
    children: 'none',
    props: {
      hideWhenEmpty: { kind: 'boolean' },
      src: { kind: 'image', required: true },
      alt: { kind: 'text' },
      width: { kind: 'length' },
      height: { kind: 'size' },
      align: { kind: 'align' },
      href: { kind: 'link' },
      borderRadius: { kind: 'size' },
      padding: { kind: 'box' },
      ...flowProps,
    },
  },
  table: {
    content: 'none',
    children: 'none',
    props: {
      hideWhenEmpty: { kind: 'boolean' },
      dataSource: { kind: 'path' },
      itemVariable: { kind: 'name' },
      indexVariable: { kind: 'name' },
      rows: { kind: 'rows' },
      columns: { kind: 'columns' },
      groupBy: { kind: 'field' },
      groupOrder: { kind: 'groupOrder' },
      showHeader: { kind: 'boolean' },
      striped: { kind: 'boolean' },
      border: { kind: 'border' },
      headerBackgroundColor: { kind: 'color' },
      headerColor: { kind: 'color' },
      color: { kind: 'color' },
      fontSize: { kind: 'size' },
      padding: { kind: 'box' },
      cellPadding: { kind: 'box' },
      keepLines: textLines.keepLines,
      emptyText: { kind: 'text' },
      sheetName: { kind: 'text' },
      freezeHeader: { kind: 'boolean' },
      autoFilter: { kind: 'boolean' },
      ...flowProps,
    },
  },
  container: {
    content: 'none',
    children: 'any',
    props: {
      hideWhenEmpty: { kind: 'boolean' },
      backgroundColor: { kind: 'color' },
      color: { kind: 'color' },
      padding: { kind: 'box' },
      border: { kind: 'border' },
      borderRadius: { kind: 'size' },
      align: { kind: 'align' },
      width: { kind: 'length' },
      minHeight: { kind: 'size' },
      ...flowProps,
    },
  },
  columns: {
    content: 'none',
    children: 'atLeastOne',
    props: {
      hideWhenEmpty: { kind: 'boolean' },
      widths: { kind: 'widths' },
      gap: { kind: 'fixedLength' },
      verticalAlign: { kind: 'verticalAlign' },
      stackOnMobile: { kind: 'boolean' },
      ...flowProps,
    },
  },
  divider: {
    content: 'none',
    children: 'none',
    props: {
      color: { kind: 'color' },
      thickness: { kind: 'size' },
      style: { kind: 'lineStyle' },
      width: { kind: 'length' },
      margin: { kind: 'box' },
      ...flowProps,
    },
  },
  spacer: { content: 'none', children: 'none', props: { height: { kind: 'size' }, ...flowProps } },
  conditional: {
    content: 'none',
    children: 'any',
    elseChildren: true,
    props: {
      condition: { kind: 'path', required: true },
      operator: { kind: 'operator', required: true },
      value: { kind: 'scalar' },
    },
  },
  loop: {
    content: 'none',
    children: 'atLeastOne',
    props: {
      dataSource: { kind: 'path', required: true },
      itemVariable: { kind: 'name', required: true },
      indexVariable: { kind: 'name' },
      emptyText: { kind: 'text' },
    },
  },
  list: {
    content: 'required',
    children: 'none',
    props: {
      ...blockText,
      ...flowProps,
      ordered: { kind: 'boolean' },
      hideWhenEmpty: { kind: 'hidesLines' },
      dataSource: { kind: 'path' },
      itemVariable: { kind: 'name' },
      indexVariable: { kind: 'name' },
    },
  },
  'qr-code': {
    content: 'none',
    children: 'none',
    props: {
      hideWhenEmpty: { kind: 'boolean' },
      kind: { kind: 'codeKind' },
      value: { kind: 'text' },
      size: { kind: 'size' },
      height: { kind: 'size' },
      showText: { kind: 'boolean' },
      gs1: { kind: 'boolean' },
      errorCorrection: { kind: 'errorCorrection' },
      name: { kind: 'text' },
      iban: { kind: 'text' },
      bic: { kind: 'text' },
      amount: { kind: 'scalar' },
      purpose: { kind: 'text' },
      reference: { kind: 'text' },
      text: { kind: 'text' },
      color: { kind: 'color' },
      backgroundColor: { kind: 'color' },
      align: { kind: 'align' },
      ...flowProps,
    },
  },
  'html-fragment': {
    content: 'required',
    children: 'none',
    props: { padding: { kind: 'box' }, ...textLines, hideWhenEmpty: { kind: 'boolean' } },
  },
  chart: {
    content: 'none',
    children: 'none',
    props: {
      hideWhenEmpty: { kind: 'boolean' },
      chartType: { kind: 'chartType', required: true },
      dataSource: { kind: 'path', required: true },
      categoryField: { kind: 'field', required: true },
      series: { kind: 'series', required: true },
      title: { kind: 'text' },
      width: { kind: 'size' },
      height: { kind: 'size' },
      showLegend: { kind: 'boolean' },
      xTitle: { kind: 'text' },
      yTitle: { kind: 'text' },
      ...flowProps,
    },
  },
  timeline: {
    content: 'none',
    children: 'none',
    props: {
      hideWhenEmpty: { kind: 'boolean' },
      dataSource: { kind: 'path' },
      itemVariable: { kind: 'name' },
      indexVariable: { kind: 'name' },
      title: { kind: 'text' },
      description: { kind: 'text' },
      date: { kind: 'text' },
      status: { kind: 'text' },
      items: { kind: 'timelineItems' },
      color: { kind: 'color' },
      ...textLines,
      ...flowProps,
    },
  },
  include: {
    content: 'none',
    children: 'none',
    props: {
      block: { kind: 'slug', required: true },
      version: { kind: 'includedVersion' },
      variables: { kind: 'includedVariables' },
    },
  },
};

/** Props of a layout in `schema.layout`, which are those of an include. */
export const layoutProps: PropSpecs = componentSpecs.include.props;

/** Props of a section. */
export const sectionProps: PropSpecs = {
  backgroundColor: { kind: 'color' },
  color: { kind: 'color' },
  linkColor: { kind: 'color' },
  padding: { kind: 'box' },
  align: { kind: 'align' },
  fontSize: { kind: 'size' },
  fontFamily: { kind: 'fontFamily' },
  lineHeight: { kind: 'lineHeight' },
};

/** Props of the whole email, as `props` beside `sections`. */
export const emailProps: PropSpecs = {
  preheader: { kind: 'text' },
  direction: { kind: 'direction' },
  backgroundColor: { kind: 'color' },
  contentBackgroundColor: { kind: 'color' },
  color: { kind: 'color' },
  linkColor: { kind: 'color' },
  fontFamily: { kind: 'fontFamily' },
  fontSize: { kind: 'size' },
  lineHeight: { kind: 'lineHeight' },
  width: { kind: 'fixedLength' },
  borderRadius: { kind: 'size' },
  linkBase: { kind: 'linkBase' },
  linkSchemes: { kind: 'linkSchemes' },
};
