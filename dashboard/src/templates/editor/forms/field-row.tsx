/** One field of a form: its label, its control, the switch to a variable, and what is wrong with it. */
import { lazy, type ReactNode, Suspense, useId, useRef, useState } from 'react';
import { Spinner } from '../../../ui/controls';
import { cx } from '../../../ui/cx';
import { CloseIcon } from '../../../ui/icons';
import { useForm } from './context';
import {
  ChoiceControl,
  ColorControl,
  type ControlProps,
  MeasureControl,
  PathControl,
  PlainControl,
  TextControl,
} from './controls';
import { canSwitch, type Field, type Kind } from './fields.js';
import styles from './forms.module.css';
import type * as Rare from './rare';
import { type Steps, valueAt, withValueAt, writtenSteps } from './place.js';
import { hasBraces, withWidth } from './values.js';
import { type Marks, VariableInput } from './variable-input';

const RichText = lazy(() => import('./rich-text'));

const rare = <Name extends keyof typeof Rare>(name: Name) =>
  lazy(() => import('./rare').then((loaded) => ({ default: loaded[name] })));

const WordsControl = rare('WordsControl');
const OutputsControl = rare('OutputsControl');
const OrderControl = rare('OrderControl');
const RowsControl = rare('RowsControl');
const WidthsControl = rare('WidthsControl');
const PartsControl = rare('PartsControl');
const FormatControl = rare('FormatControl');
const BorderControl = rare('BorderControl');
const BoxControl = rare('BoxControl');
const FontControl = rare('FontControl');
const ImageControl = rare('ImageControl');
const JsonControl = rare('JsonControl');
const MaybeControl = rare('MaybeControl');
const NumberControl = rare('NumberControl');

/** Controls of several parts, whose label is that of the group. */
const groupKinds: ReadonlySet<Kind> = new Set<Kind>([
  ...(['box', 'rows', 'widths', 'columns', 'series', 'timelineItems', 'outputs', 'format', 'rich'] as const),
]);

export type RowProps = Readonly<{ field: Field; base: Steps }>;

type PlacedProps = ControlProps & Readonly<{ steps: Steps }>;

const SourceControl = ({ value, write, marks }: ControlProps) => (
  <textarea
    {...marks}
    className={cx(styles['input'], styles['mono'])}
    rows={12}
    spellCheck={false}
    value={typeof value === 'string' ? value : ''}
    onChange={({ target }) => write(target.value)}
  />
);

const RichControl = (props: ControlProps) => (
  <Suspense fallback={<SourceControl {...props} />}>
    <RichText {...props} />
  </Suspense>
);

const columnCount = (content: unknown, steps: Steps): number => {
  const children = valueAt(content, [...steps.slice(0, -2), 'children']);
  return Array.isArray(children) ? children.length : 0;
};

const ColumnWidths = ({ steps, ...props }: PlacedProps) => {
  const { draft } = useForm();
  return <WidthsControl {...props} count={columnCount(draft.content, steps)} />;
};

/** Each kind has a control. The switches of true and false have a row of their own. */
const controls: Readonly<
  Record<Exclude<Kind, 'share' | 'slug' | 'includedVersion' | 'includedVariables'>, (props: PlacedProps) => ReactNode>
> = {
  text: (props) => <TextControl {...props} />,
  label: (props) => <TextControl {...props} />,
  scalar: (props) => <TextControl {...props} />,
  link: (props) => <TextControl {...props} />,
  image: (props) => <ImageControl {...props} />,
  linkBase: (props) => <PlainControl {...props} />,
  name: (props) => <PlainControl {...props} />,
  plainText: (props) => <PlainControl {...props} />,
  address: (props) => <PlainControl {...props} />,
  language: (props) => <PlainControl {...props} />,
  timeZone: (props) => <PlainControl {...props} />,
  lineHeight: (props) => <LineHeightControl {...props} />,
  number: (props) => <NumberControl {...props} />,
  linkSchemes: (props) => <WordsControl {...props} />,
  color: (props) => <ColorControl {...props} />,
  length: (props) => <MeasureControl {...props} />,
  size: (props) => <MeasureControl {...props} />,
  fixedLength: (props) => <MeasureControl {...props} />,
  box: (props) => <BoxControl {...props} />,
  border: (props) => <BorderControl {...props} />,
  fontFamily: (props) => <FontControl {...props} />,
  boolean: (props) => <MaybeControl {...props} />,
  align: (props) => <ChoiceControl {...props} />,
  verticalAlign: (props) => <ChoiceControl {...props} />,
  lineStyle: (props) => <ChoiceControl {...props} />,
  pageBreak: (props) => <ChoiceControl {...props} />,
  columnType: (props) => <ChoiceControl {...props} />,
  direction: (props) => <ChoiceControl {...props} />,
  textDirection: (props) => <ChoiceControl {...props} />,
  hidesLines: (props) => <ChoiceControl {...props} />,
  operator: (props) => <ChoiceControl {...props} />,
  errorCorrection: (props) => <ChoiceControl {...props} />,
  codeKind: (props) => <ChoiceControl {...props} />,
  chartType: (props) => <ChoiceControl {...props} />,
  choice: (props) => <ChoiceControl {...props} />,
  path: (props) => <PathControl {...props} />,
  field: (props) => <PathControl {...props} />,
  groupOrder: (props) => <OrderControl {...props} />,
  widths: (props) => <ColumnWidths {...props} />,
  rows: (props) => <RowsControl {...props} />,
  columns: (props) => <PartsControl {...props} />,
  series: (props) => <PartsControl {...props} />,
  timelineItems: (props) => <PartsControl {...props} />,
  format: (props) => <FormatControl {...props} />,
  rules: (props) => <JsonControl {...props} />,
  rich: (props) => <RichControl {...props} />,
  source: (props) => <SourceControl {...props} />,
  outputs: (props) => <OutputsControl {...props} />,
};

/** A factor stays a number. */
const LineHeightControl = (props: ControlProps) => (
  <PlainControl
    {...props}
    write={(next) =>
      props.write(typeof next === 'string' && /^\d(?:[.,]\d{1,3})?$/.test(next) ? Number(next.replace(',', '.')) : next)
    }
  />
);

/** The share of a column stands in the component around it. */
const useValue = ({
  field,
  base,
}: RowProps): Readonly<{ steps: Steps; value: unknown; write: (value: unknown) => void }> => {
  const { draft, place } = useForm();
  const parent = place?.parents.at(-1);
  const isShare = field.kind === 'share' && parent !== undefined;
  const steps = isShare ? [...parent.steps, 'props', 'widths'] : [...base, ...field.steps];
  const owner = isShare ? parent.steps : base;
  const whole = valueAt(draft.content, steps);
  return {
    steps,
    value: isShare ? valueAt(whole, [parent.at]) : whole,
    write: (value) => {
      const next = isShare ? withWidth(whole, columnCount(draft.content, steps), parent.at, value) : value;
      if (JSON.stringify(next) === JSON.stringify(whole)) return;
      draft.change(withValueAt(draft.content, steps, next, owner.length + 1), {
        label: `${next === undefined ? 'Clear' : 'Change'} ${field.label.toLowerCase()}`,
        group: writtenSteps(steps),
      });
    },
  };
};

export const FieldRow = ({ field, base }: RowProps) => {
  const { draft, around, faultAt, supportOf } = useForm();
  const { steps, value, write } = useValue({ field, base });
  const id = useId();
  const [isVariable, setIsVariable] = useState(false);
  const literal = useRef<unknown>(undefined);
  const fault = faultAt(field.kind === 'share' ? [...steps, 0] : steps);
  const support = supportOf(field.name, value);
  const marks: Marks = {
    id,
    ...described(id, [
      ['hint', field.hint],
      ['support', support],
      ['fault', fault],
    ]),
    ...(fault === undefined ? {} : { 'aria-invalid': true as const }),
    ...(field.isRequired === true ? { 'aria-required': true as const } : {}),
    ...(draft.canWrite ? {} : { disabled: true }),
  };
  const below = (
    <>
      {field.hint === undefined ? null : <Below id={`${id}-hint`} look="hint" text={field.hint} />}
      {support === undefined ? null : <Below id={`${id}-support`} look="support" text={support} />}
      {fault === undefined ? null : <Below id={`${id}-fault`} look="fault" text={fault} />}
    </>
  );
  if (field.kind === 'boolean' && typeof field.unset === 'boolean')
    return (
      <div className={styles['field']} data-field={field.name}>
        <label className={styles['check']}>
          <input
            {...marks}
            type="checkbox"
            checked={typeof value === 'boolean' ? value : field.unset}
            onChange={({ target }) => write(target.checked === field.unset ? undefined : target.checked)}
          />
          {field.label}
        </label>
        {below}
      </div>
    );
  const isTemplated = hasBraces(value);
  const hasVariable = canSwitch(field.kind) && (isVariable || isTemplated);
  const toggle = (): void => {
    if (!hasVariable) literal.current = value;
    else if (isTemplated) write(literal.current);
    setIsVariable(!hasVariable);
  };
  const isGroup = groupKinds.has(field.kind) && !hasVariable;
  return (
    <div className={styles['field']} data-field={field.name}>
      <span className={styles['label']}>
        {isGroup ? <span>{field.label}</span> : <label htmlFor={id}>{field.label}</label>}
        {!draft.canWrite || value === undefined || field.isRequired === true ? null : (
          <button
            type="button"
            className={styles['act']}
            aria-label={`Clear: ${field.label}`}
            title="Clear"
            onClick={() => {
              setIsVariable(false);
              write(undefined);
            }}
          >
            <CloseIcon size={11} />
          </button>
        )}
        {!draft.canWrite || !canSwitch(field.kind) ? null : (
          <button
            type="button"
            className={styles['act']}
            aria-pressed={hasVariable}
            aria-label={`By a variable: ${field.label}`}
            title="By a variable"
            onClick={toggle}
          >
            {'{ }'}
          </button>
        )}
      </span>
      {hasVariable ? (
        <VariableInput
          marks={marks}
          label={field.label}
          value={isTemplated ? value : ''}
          names={around.names}
          isMono
          placeholder="{{…}}"
          onChange={(text) => write(text === '' ? undefined : text)}
        />
      ) : (
        <Suspense fallback={<Spinner />}>
          {controlOf(field.kind, { field, value, write, marks, around, steps })}
        </Suspense>
      )}
      {below}
    </div>
  );
};

/** Kinds whose values are lists or objects. */
const structuredKinds: ReadonlySet<Kind> = new Set<Kind>([
  ...([
    'rows',
    'columns',
    'series',
    'timelineItems',
    'rules',
    'widths',
    'groupOrder',
    'linkSchemes',
    'format',
  ] as const),
  ...(['outputs', 'includedVariables'] as const),
]);

const controlOf = (kind: Kind, props: PlacedProps): ReactNode => {
  // A value of another form is shown as it is.
  if (typeof props.value === 'object' && props.value !== null && !structuredKinds.has(kind))
    return <JsonControl {...props} />;
  if (kind === 'share') return <MeasureControl {...props} />;
  if (kind === 'slug' || kind === 'includedVersion' || kind === 'includedVariables') return <JsonControl {...props} />;
  return controls[kind](props);
};

const described = (
  id: string,
  parts: readonly (readonly [string, string | undefined])[],
): { 'aria-describedby'?: string } => {
  const ids = parts.flatMap(([name, text]) => (text === undefined ? [] : [`${id}-${name}`]));
  return ids.length === 0 ? {} : { 'aria-describedby': ids.join(' ') };
};

const Below = ({ id, look, text }: Readonly<{ id: string; look: 'hint' | 'support' | 'fault'; text: string }>) => (
  <span id={id} className={styles[look]}>
    {text}
  </span>
);
