/** The form of a condition: a sentence of what is compared. A condition that is none of these forms is shown as JSON. */
import { useId } from 'react';
import { useForm } from './context';
import { ChoiceControl, type ControlProps, PathControl } from './controls';
import { JsonControl } from './json-control';
import { type Field, fieldsOfSpecs, isUnary, operatorLabels } from './fields.js';
import styles from './forms.module.css';
import { isObject, type Place, propsOf, withValueAt, writtenSteps } from './place.js';
import { hasBraces, scalarAs, type ScalarType, scalarTypeOf } from './values.js';
import { VariableInput } from './variable-input';

const [conditionField, operatorField, valueField] = fieldsOfSpecs('conditional', {
  condition: { kind: 'path', required: true },
  operator: { kind: 'operator', required: true },
  value: { kind: 'scalar' },
}) as readonly [Field, Field, Field];

const valueTypes: Readonly<Record<ScalarType | 'variable', string>> = {
  text: 'the text',
  number: 'the number',
  true: 'yes (true)',
  false: 'no (false)',
  null: 'nothing (null)',
  variable: 'the variable',
};

const isWhole = (text: string): boolean => /^\s*\{\{[^{}]*\}\}\s*$/.test(text);

export const ConditionForm = ({ place }: Readonly<{ place: Place }>) => {
  const { draft, around, faultAt } = useForm();
  const id = useId();
  const props = propsOf(place.node);
  const steps = [...place.steps, 'props'];
  const set = (name: string, next: unknown, label: string): void =>
    draft.change(withValueAt(draft.content, [...steps, name], next, place.steps.length + 1), {
      label,
      group: writtenSteps([...steps, name]),
    });
  const { condition, operator, value } = props;
  const isSentence =
    (condition === undefined || typeof condition === 'string') &&
    (operator === undefined || (typeof operator === 'string' && Object.hasOwn(operatorLabels, operator))) &&
    (value === undefined || value === null || ['string', 'number', 'boolean'].includes(typeof value));
  const control = (field: Field): ControlProps => ({
    field,
    value: props[field.name],
    write: (next) => set(field.name, next, `Change ${field.label.toLowerCase()}`),
    around,
    marks: {
      id: `${id}-${field.name}`,
      'aria-required': true,
      ...(draft.canWrite ? {} : { disabled: true }),
      ...(faultAt([...steps, field.name]) === undefined
        ? {}
        : { 'aria-invalid': true, 'aria-describedby': `${id}-${field.name}-fault` }),
    },
  });
  if (!isSentence || !isObject(place.node['props'] ?? {}))
    return (
      <div className={styles['field']}>
        <label htmlFor={`${id}-json`}>Condition as JSON</label>
        <JsonControl
          field={conditionField}
          value={place.node['props']}
          write={(next) =>
            draft.change(withValueAt(draft.content, steps, next), {
              label: 'Change the condition',
              group: writtenSteps(steps),
            })
          }
          around={around}
          marks={{ id: `${id}-json`, ...(draft.canWrite ? {} : { disabled: true }) }}
        />
        <Fault id={`${id}-json-fault`} text={faultAt(steps)} />
      </div>
    );
  const type: ScalarType | 'variable' = typeof value === 'string' && isWhole(value) ? 'variable' : scalarTypeOf(value);
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  return (
    <div className={styles['sentence']}>
      <div className={styles['field']}>
        <label htmlFor={`${id}-condition`}>Show what is inside if</label>
        <PathControl {...control(conditionField)} />
        <Fault id={`${id}-condition-fault`} text={faultAt([...steps, 'condition'])} />
      </div>
      <div className={styles['field']}>
        <label htmlFor={`${id}-operator`} className={styles['hidden']}>
          Comparison
        </label>
        <ChoiceControl {...control(operatorField)} />
        <Fault id={`${id}-operator-fault`} text={faultAt([...steps, 'operator'])} />
      </div>
      {isUnary(operator) ? null : (
        <div className={styles['field']}>
          <span className={styles['row']}>
            <select
              className={styles['input']}
              aria-label="Kind of the value"
              disabled={!draft.canWrite}
              value={type}
              onChange={({ target }) => {
                const next = target.value as ScalarType | 'variable';
                const inside = hasBraces(text) ? text.replaceAll(/[{}]/g, '').trim() : text;
                set('value', next === 'variable' ? `{{${inside}}}` : scalarAs(next, inside), 'Change the value');
              }}
            >
              {Object.entries(valueTypes).map(([name, label]) => (
                <option key={name} value={name}>
                  {label}
                </option>
              ))}
            </select>
            {type === 'variable' ? (
              <PathControl
                {...control({ ...valueField, kind: 'path', label: 'Value' })}
                marks={{ ...control(valueField).marks, 'aria-label': 'Value' }}
              />
            ) : type === 'text' ? (
              <VariableInput
                marks={{ ...control(valueField).marks, 'aria-label': 'Value' }}
                label="Value"
                value={text}
                names={around.names}
                onChange={(next) => set('value', next, 'Change the value')}
              />
            ) : type === 'number' ? (
              <input
                {...control(valueField).marks}
                className={styles['input']}
                aria-label="Value"
                type="number"
                step="any"
                value={text}
                onChange={({ target }) => {
                  if (target.value !== '') set('value', target.valueAsNumber, 'Change the value');
                }}
              />
            ) : null}
          </span>
          <Fault id={`${id}-value-fault`} text={faultAt([...steps, 'value'])} />
        </div>
      )}
      <span className={styles['hint']}>
        For “and”, put a condition into this one. For “or”, compare a calculated variable.
      </span>
    </div>
  );
};

const Fault = ({ id, text }: Readonly<{ id: string; text: string | undefined }>) =>
  text === undefined ? null : (
    <span id={id} className={styles['fault']}>
      {text}
    </span>
  );
