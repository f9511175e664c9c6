/** The variables that a template reads, and the sample data of its preview. */
import { useEffect, useId, useMemo, useState } from 'react';
import { Button, TextField } from '../ui/controls';
import { State } from '../ui/states';
import { isEqual, ownOf } from './content';
import type { Draft } from './draft';
import type { ViewProps } from './page';
import { type Declared, exampleOf, usedIn } from './used';
import styles from './views.module.css';

const VariablesView = ({ draft, settings, onSettings, jumpTo }: ViewProps) => {
  const { content, variables, setVariables, canWrite, change } = draft;
  const { declared, paths, undeclared } = useMemo(() => usedIn(content), [content]);
  const declare = (name: string): void => {
    const own = Array.isArray(content['variables']) ? (content['variables'] as readonly unknown[]) : [];
    change({ ...content, variables: [...own, { name, type: 'string' }] }, { label: `Declare ${name}` });
  };
  return (
    <div className={styles['view']}>
      <p className={styles['soft']}>
        The preview and tests are filled with this data. It is kept in this browser until you sign out; the template has
        none of it. Empty fields have the default of the variable.
      </p>
      {declared.length === 0 ? <State title="The template declares no variables" /> : null}
      <ul className={styles['variables']}>
        {declared.map((one, place) => (
          <li key={`${one.name} ${place}`}>
            <div className={styles['variable']}>
              <button type="button" className={styles['jump']} onClick={() => jumpTo(`variables[${place}]`)}>
                <code>{one.name}</code>
              </button>
              <span className={styles['soft']}>
                {[one.type, one.isRequired ? 'required' : '', formatOf(one.format)]
                  .filter((word) => word !== '')
                  .join(', ')}
                {' · '}
                {usesOf(paths.get(one.name))}
              </span>
              {one.description === '' ? null : <span className={styles['soft']}>{one.description}</span>}
            </div>
            {one.isCalculated ? (
              <p className={styles['soft']}>The template calculates it.</p>
            ) : (
              <Sample declared={one} variables={variables} setVariables={setVariables} />
            )}
          </li>
        ))}
      </ul>
      {undeclared.length === 0 ? null : (
        <section className={styles['part']}>
          <h2>Read and not declared</h2>
          <ul className={styles['stray']}>
            {undeclared.map((name) => (
              <li key={name}>
                <code>{name}</code>
                {canWrite ? (
                  <Button isSmall aria-label={`Declare ${name}`} onPress={() => declare(name)}>
                    Declare
                  </Button>
                ) : null}
              </li>
            ))}
          </ul>
        </section>
      )}
      <section className={styles['part']}>
        <h2>All sample data as JSON</h2>
        <JsonField
          label="Sample data"
          value={variables}
          isFit={(value) => typeof value === 'object' && value !== null && !Array.isArray(value)}
          otherwise="This has to be an object."
          rows={8}
          onChange={(value) => setVariables((value ?? {}) as Draft['variables'])}
        />
        {Object.keys(variables).length === 0 ? null : (
          <Button isSmall onPress={() => setVariables({})}>
            Forget all of it
          </Button>
        )}
      </section>
      <section className={styles['part']}>
        <h2>Time zone of the preview</h2>
        <TimeZone settings={settings} onSettings={onSettings} own={String(content['timeZone'] ?? 'UTC')} />
      </section>
    </div>
  );
};

export default VariablesView;

const formatOf = (format: unknown): string => {
  if (typeof format !== 'object' || format === null) return '';
  return Object.values(format)
    .filter((one) => typeof one === 'string')
    .join(' ');
};

const usesOf = (paths: ReadonlyMap<string, number> | undefined): string => {
  if (paths === undefined) return 'not read';
  const count = [...paths.values()].reduce((sum, one) => sum + one, 0);
  return `read ${count} ${count === 1 ? 'time' : 'times'}`;
};

const isZone = (zone: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
};

const TimeZone = ({
  settings,
  onSettings,
  own,
}: Readonly<Pick<ViewProps, 'settings' | 'onSettings'> & { own: string }>) => {
  const [typed, setTyped] = useState(settings.timeZone ?? '');
  const isFit = typed.trim() === '' || isZone(typed.trim());
  return (
    <TextField
      label="IANA name"
      value={typed}
      placeholder={own}
      isInvalid={!isFit}
      hint={isFit ? undefined : 'This is no time zone; one is Europe/Lisbon.'}
      onChange={(next) => {
        setTyped(next);
        const zone = next.trim();
        const { timeZone: _, ...others } = settings;
        if (zone === '') onSettings(others);
        else if (isZone(zone)) onSettings({ ...others, timeZone: zone });
      }}
    />
  );
};

type SampleProps = Readonly<{ declared: Declared } & Pick<Draft, 'variables' | 'setVariables'>>;

/** One value; an empty field takes it out. */
const Sample = ({ declared, variables, setVariables }: SampleProps) => {
  const { name, type, defaultValue } = declared;
  const value = ownOf(variables, name);
  const set = (next: unknown): void => {
    const { [name]: _, ...others } = variables;
    setVariables(next === undefined ? others : { ...others, [name]: next });
  };
  const standsIn = defaultValue === undefined ? '' : JSON.stringify(defaultValue);
  if (type === 'boolean')
    return (
      <label className={styles['field']}>
        <span className={styles['hidden']}>Sample of {name}</span>
        <select
          value={value === undefined ? '' : String(value)}
          onChange={({ target }) => set(target.value === '' ? undefined : target.value === 'true')}
        >
          <option value="">{standsIn === '' ? 'none' : `default: ${standsIn}`}</option>
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      </label>
    );
  if (type === 'object' || type === 'array')
    return (
      <>
        <JsonField
          label={`Sample of ${name}`}
          isLabelHidden
          value={value}
          placeholder={standsIn}
          isFit={(next) => Array.isArray(next) === (type === 'array') && typeof next === 'object' && next !== null}
          otherwise={type === 'array' ? 'This has to be an array.' : 'This has to be an object.'}
          rows={value === undefined ? 2 : 6}
          onChange={set}
        />
        {value === undefined ? (
          <Button
            isSmall
            aria-label={`Begin a sample of ${name}`}
            onPress={() => set(defaultValue ?? exampleOf(declared))}
          >
            {defaultValue === undefined ? 'Begin with an example' : 'Begin with the default'}
          </Button>
        ) : null}
      </>
    );
  return (
    <label className={styles['field']}>
      <span className={styles['hidden']}>Sample of {name}</span>
      <input
        type={type === 'number' ? 'number' : 'text'}
        step="any"
        value={value === undefined || value === null ? '' : String(value)}
        placeholder={type === 'date' && standsIn === '' ? '2026-11-21' : standsIn.replace(/^"|"$/g, '')}
        onChange={({ target }) => {
          const text = target.value;
          set(text === '' ? undefined : type === 'number' && Number.isFinite(Number(text)) ? Number(text) : text);
        }}
      />
    </label>
  );
};

type JsonFieldProps = Readonly<{
  label: string;
  isLabelHidden?: boolean;
  value: unknown;
  placeholder?: string;
  isFit: (value: unknown) => boolean;
  otherwise: string;
  rows: number;
  /** Undefined: the field is empty. */
  onChange: (value: unknown) => void;
}>;

const parsedOf = (text: string): Readonly<{ value?: unknown; fault?: string }> => {
  if (text.trim() === '') return {};
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (fault) {
    return { fault: fault instanceof Error ? fault.message : String(fault) };
  }
};

/** JSON that is told once it can be read; what is typed stays. */
const JsonField = (props: JsonFieldProps) => {
  const { label, isLabelHidden = false, value, placeholder = '', isFit, otherwise, rows, onChange } = props;
  const id = useId();
  const textOf = (of: unknown): string => (of === undefined ? '' : JSON.stringify(of, null, 2));
  const [text, setText] = useState(() => textOf(value));
  const parsed = parsedOf(text);
  const fault = parsed.fault ?? (parsed.value === undefined || isFit(parsed.value) ? undefined : otherwise);
  useEffect(() => {
    setText((now) => {
      const known = parsedOf(now);
      return known.fault === undefined && isEqual(known.value ?? undefined, value) ? now : textOf(value);
    });
  }, [value]);
  return (
    <div className={styles['field']}>
      <label htmlFor={id} className={isLabelHidden ? styles['hidden'] : ''}>
        {label}
      </label>
      <textarea
        id={id}
        rows={rows}
        spellCheck={false}
        value={text}
        placeholder={placeholder}
        {...(fault === undefined ? {} : { 'aria-invalid': true as const, 'aria-describedby': `${id}-fault` })}
        onChange={({ target }) => {
          setText(target.value);
          const next = parsedOf(target.value);
          if (next.fault === undefined && (next.value === undefined || isFit(next.value))) onChange(next.value);
        }}
      />
      {fault === undefined ? null : (
        <span id={`${id}-fault`} className={styles['fault']}>
          {fault}
        </span>
      )}
    </div>
  );
};
