/**
 * Forms from declared fields. The service's faults are shown at their fields, and a fault loses nothing that was typed.
 */
import { type FormEvent, type ReactNode, useId, useRef, useState } from 'react';
import { ApiFault, type FieldFault } from '../api/client';
import { Button, Notice } from '../ui/controls';
import { cx } from '../ui/cx';
import styles from './form.module.css';
import { type Field, initialOf, isEmpty, type Value, type Values } from './resource';

type ValuesFormProps = Readonly<{
  fields: readonly Field[];
  /** Contents that the form had before the page was left. */
  kept?: Values | undefined;
  onChange?: (values: Values) => void;
  label: string;
  look?: 'main' | 'danger';
  onSubmit: (values: Values) => Promise<void>;
  onCancel?: () => void;
}>;

type Faults = Readonly<{ byField: Readonly<Record<string, string>>; others: readonly string[] }>;

const NO_FAULTS: Faults = { byField: {}, others: [] };

export const ValuesForm = ({ fields, kept, onChange, label, look = 'main', onSubmit, onCancel }: ValuesFormProps) => {
  const [values, setValues] = useState<Values>(() => ({ ...initialOf(fields), ...kept }));
  const [faults, setFaults] = useState(NO_FAULTS);
  const [isBusy, setIsBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);

  const show = (found: Faults): void => {
    setFaults(found);
    // The fields have their marks in the next frame.
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid=true], [role=alert]')?.focus());
  };
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (isBusy) return;
    const missing = fields.filter(({ name, isRequired }) => isRequired === true && isEmpty(values[name]));
    if (missing.length > 0) {
      show({ byField: Object.fromEntries(missing.map((field) => [field.name, missingOf(field)])), others: [] });
      return;
    }
    setFaults(NO_FAULTS);
    setIsBusy(true);
    try {
      await onSubmit(values);
    } catch (error) {
      show(faultsOf(error, fields));
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <form ref={form} className={styles['form']} noValidate onSubmit={(event) => void submit(event)}>
      {faults.others.length === 0 ? null : (
        <Notice kind="fault">
          {faults.others.map((text) => (
            <p key={text}>{text}</p>
          ))}
        </Notice>
      )}
      {fields.map((field) => (
        <FieldRow
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          fault={faults.byField[field.name]}
          onChange={(value) => {
            const now = { ...values, [field.name]: value };
            setValues(now);
            onChange?.(now);
          }}
        />
      ))}
      <div className={styles['buttons']}>
        <Button type="submit" look={look} isPending={isBusy}>
          {label}
        </Button>
        {onCancel === undefined ? null : <Button onPress={onCancel}>Cancel</Button>}
      </div>
    </form>
  );
};

const missingOf = (field: Field): string =>
  field.kind === 'checks' ? 'Choose at least one.' : field.kind === 'file' ? 'Choose a file.' : 'Fill this in.';

/** The service names a fault by its path, which may go on below that of the field. */
const fieldOf = ({ field }: FieldFault, fields: readonly Field[]): Field | undefined =>
  fields.find(({ name }) => field === name || field.startsWith(`${name}[`) || field.startsWith(`${name}.`)) ??
  fields.find(({ name }) => field !== '' && name.startsWith(`${field}.`));

/** Which line of a field of lines a fault is about. */
const lineOf = ({ field }: FieldFault, { name, kind }: Field): string => {
  const place = /^\[(\d+)\]/.exec(field.slice(name.length))?.[1];
  return kind === 'lines' && place !== undefined ? `Line ${Number(place) + 1}: ` : '';
};

const faultsOf = (error: unknown, fields: readonly Field[]): Faults => {
  if (!(error instanceof ApiFault)) return { byField: {}, others: ['The page met a fault of its own. Try again.'] };
  if (error.errors.length === 0) return { byField: {}, others: [error.message] };
  const byField: Record<string, string> = {};
  const others: string[] = [];
  for (const one of error.errors) {
    const field = fieldOf(one, fields);
    if (field === undefined) others.push(`${one.field} ${one.message}`.trim());
    else byField[field.name] ??= `${lineOf(one, field)}${one.message}`;
  }
  return { byField, others };
};

type FieldProps = Readonly<{
  field: Field;
  value: Value;
  fault?: string | undefined;
  /** A filter may always be empty, and says nothing of it. */
  isFilter?: boolean;
  onChange: (value: Value) => void;
}>;

export const FieldRow = ({ field, value, fault, isFilter = false, onChange }: FieldProps) => {
  const id = useId();
  const described = [field.hint === undefined ? '' : `${id}-hint`, fault === undefined ? '' : `${id}-fault`]
    .join(' ')
    .trim();
  const marks = {
    ...(described === '' ? {} : { 'aria-describedby': described }),
    ...(fault === undefined ? {} : { 'aria-invalid': true as const }),
  };
  const below = (
    <>
      {field.hint === undefined ? null : (
        <span id={`${id}-hint`} className={styles['hint']}>
          {field.hint}
        </span>
      )}
      {fault === undefined ? null : (
        <span id={`${id}-fault`} className={styles['fault']}>
          {fault}
        </span>
      )}
    </>
  );
  if (field.kind === 'checks')
    return (
      <fieldset className={styles['checks']} {...marks} tabIndex={-1}>
        <legend>{field.label}</legend>
        {below}
        <div className={styles['choices']}>
          {field.choices.map((choice) => (
            <label key={choice.value} className={styles['choice']}>
              <input
                type="checkbox"
                name={field.name}
                value={choice.value}
                checked={Array.isArray(value) && value.includes(choice.value)}
                onChange={({ target }) => {
                  const others = (Array.isArray(value) ? (value as readonly string[]) : []).filter(
                    (one) => one !== choice.value,
                  );
                  onChange(target.checked ? [...others, choice.value] : others);
                }}
              />
              <span>
                {choice.label}
                {choice.hint === undefined ? null : <span className={styles['hint']}>{choice.hint}</span>}
              </span>
            </label>
          ))}
        </div>
      </fieldset>
    );
  if (field.kind === 'switch')
    return (
      <div className={styles['field']}>
        <label className={styles['choice']}>
          <input
            type="checkbox"
            name={field.name}
            checked={value === true}
            onChange={({ target }) => onChange(target.checked)}
            {...marks}
          />
          <span>{field.label}</span>
        </label>
        {below}
      </div>
    );
  return (
    <div className={styles['field']}>
      <label htmlFor={id}>
        {field.label}
        {field.isRequired === true || field.kind === 'select' || isFilter ? null : (
          <span className={styles['optional']}>optional</span>
        )}
      </label>
      {controlOf(field, value, onChange, {
        id,
        name: field.name,
        ...(field.placeholder === undefined ? {} : { placeholder: field.placeholder }),
        ...(field.isRequired === true ? { 'aria-required': true as const } : {}),
        ...marks,
      })}
      {below}
    </div>
  );
};

type Marks = Readonly<{
  id: string;
  name: string;
  placeholder?: string;
  'aria-required'?: true;
  'aria-describedby'?: string;
  'aria-invalid'?: true;
}>;

const inputTypes = {
  text: 'text',
  email: 'email',
  url: 'url',
  number: 'number',
  password: 'password',
  code: 'text',
  moment: 'datetime-local',
  day: 'date',
  color: 'text',
} as const;

const controlOf = (
  field: Exclude<Field, { kind: 'switch' | 'checks' }>,
  value: Value,
  onChange: (value: Value) => void,
  marks: Marks,
): ReactNode => {
  const text = typeof value === 'string' ? value : '';
  if (field.kind === 'area' || field.kind === 'lines')
    return (
      <textarea
        {...marks}
        className={cx(styles['input'], field.kind === 'lines' && styles['mono'])}
        rows={3}
        value={text}
        onChange={({ target }) => onChange(target.value)}
      />
    );
  if (field.kind === 'select')
    return (
      <select {...marks} className={styles['input']} value={text} onChange={({ target }) => onChange(target.value)}>
        {field.choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
    );
  if (field.kind === 'file')
    return (
      <input
        {...marks}
        className={styles['file']}
        type="file"
        accept={field.accept}
        onChange={({ target }) => onChange(target.files?.[0] ?? null)}
      />
    );
  const input = (
    <input
      {...marks}
      className={styles['input']}
      type={inputTypes[(field.kind ?? 'text') as keyof typeof inputTypes]}
      value={text}
      autoComplete={field.kind === 'password' ? 'current-password' : field.kind === 'code' ? 'one-time-code' : 'off'}
      {...(field.kind === 'code' ? { inputMode: 'numeric' as const } : {})}
      onChange={({ target }) => onChange(target.value)}
    />
  );
  if (field.kind !== 'color') return input;
  const shown = [text.trim(), field.placeholder ?? ''].find((one) => /^#[0-9a-f]{6}$/i.test(one)) ?? '#000000';
  return (
    <span className={styles['color']}>
      <input
        type="color"
        aria-label={`Choose: ${field.label}`}
        value={shown.toLowerCase()}
        onChange={({ target }) => onChange(target.value)}
      />
      {input}
    </span>
  );
};
