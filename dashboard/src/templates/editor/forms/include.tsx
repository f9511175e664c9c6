/** Which block stands at a place, which of its versions, and with which values. Layouts of mails and documents too. */
import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import type {
  GetBlockData,
  GetBlockResponse,
  ListBlocksData,
  ListBlocksResponse,
  ListBlockVersionsData,
  ListBlockVersionsResponse,
} from '#api';
import { operation } from '../../../api/client';
import { TextLink } from '../../../ui/controls';
import { useForm } from './context';
import { JsonControl } from './json-control';
import { type Field, outputsOf } from './fields.js';
import styles from './forms.module.css';
import { isObject, type Json, type Steps, valueAt, withValueAt, writtenSteps } from './place.js';
import { scalarAs } from './values.js';
import { VariableInput } from './variable-input';

const list = operation<ListBlocksData, ListBlocksResponse>('GET', '/api/blocks');
const get = operation<GetBlockData, GetBlockResponse>('GET', '/api/blocks/{id}');
const versionsOf = operation<ListBlockVersionsData, ListBlockVersionsResponse>('GET', '/api/blocks/{id}/versions');

/** More blocks than a team has; others are named by their slug. */
const BLOCKS_MAX = 100;

const FOLLOWS = 'latest';

type Variable = Readonly<{ name: string; type: string; about?: string; usual?: string; isRequired: boolean }>;

const variablesIn = (definitions: readonly unknown[]): readonly Variable[] =>
  definitions.flatMap((one) => {
    if (!isObject(one) || typeof one['name'] !== 'string') return [];
    const { name, type, description, defaultValue, required } = one;
    const usual =
      defaultValue === undefined
        ? undefined
        : typeof defaultValue === 'string'
          ? defaultValue
          : JSON.stringify(defaultValue);
    return [
      {
        name,
        type: typeof type === 'string' ? type : 'string',
        isRequired: required === true && defaultValue === undefined,
        ...(typeof description === 'string' && description !== '' ? { about: description } : {}),
        ...(usual === undefined ? {} : { usual }),
      },
    ];
  });

/** In: the type of a variable of the block, and what somebody wrote. A text with braces is a text of any type. */
const valueOf = (type: string, text: string): unknown => {
  if (text.includes('{{')) return text;
  if (type === 'number') return scalarAs('number', text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
};

/** `isLayout`: a block with sections, around all of the template. */
export const IncludeForm = ({ steps, isLayout }: Readonly<{ steps: Steps; isLayout: boolean }>) => {
  const { draft, around, faultAt } = useForm();
  const { teamId } = around;
  const id = useId();
  const given = valueAt(draft.content, steps);
  const props: Json = isObject(given) ? given : {};
  const slug = typeof props['block'] === 'string' ? props['block'] : '';
  const blocks = useQuery({
    queryKey: ['blocks of forms', teamId],
    queryFn: ({ signal }) => list({ query: { limit: BLOCKS_MAX } }, { teamId, signal }),
  });
  const block = useQuery({
    queryKey: ['block of forms', teamId, slug],
    enabled: slug !== '',
    retry: false,
    queryFn: async ({ signal }) => {
      const path = { id: slug };
      const [record, { data }] = await Promise.all([
        get({ path }, { teamId, signal }),
        versionsOf({ path }, { teamId, signal }),
      ]);
      return { record, versions: data };
    },
  });
  const outputs = outputsOf(draft.kind, draft.content);
  const fitting = (blocks.data?.data ?? []).filter(
    (one) =>
      one.isLayout === isLayout && (draft.kind === 'block' || outputs.every((output) => one.outputs.includes(output))),
  );
  const change = (next: Json | undefined, label: string, group: string): void =>
    draft.change(withValueAt(draft.content, steps, next), { label, group: `${writtenSteps(steps)} ${group}` });
  const set = (name: string, value: unknown, label: string): void => {
    const others = Object.fromEntries(Object.entries(props).filter(([one]) => one !== name));
    change(value === undefined ? others : { ...props, [name]: value }, label, name);
  };
  const isDisabled = !draft.canWrite;
  const version = props['version'];
  const values = isObject(props['variables']) ? props['variables'] : {};
  const fault = (name: string): string | undefined => faultAt([...steps, name]);
  const described = (name: string): object =>
    fault(name) === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': `${id}-${name}-fault` };
  return (
    <>
      <div className={styles['field']}>
        <label htmlFor={`${id}-block`}>{isLayout ? 'Layout' : 'Block'}</label>
        <select
          id={`${id}-block`}
          className={styles['input']}
          disabled={isDisabled}
          {...described('block')}
          value={slug}
          onChange={({ target }) => {
            if (target.value === '') change(undefined, 'Take the layout out', 'block');
            else change({ block: target.value }, `Choose ${target.value}`, 'block');
          }}
        >
          {isLayout || slug === '' ? <option value="">{isLayout ? 'none' : 'Choose a block'}</option> : null}
          {fitting.map((one) => (
            <option key={one.id} value={one.slug} disabled={one.publishedVersion === null}>
              {one.name}
              {one.publishedVersion === null ? ' (not published)' : ''}
            </option>
          ))}
          {slug === '' || fitting.some((one) => one.slug === slug) ? null : <option value={slug}>{slug}</option>}
        </select>
        {blocks.data !== undefined && fitting.length === 0 && slug === '' ? (
          <span className={styles['hint']}>
            {isLayout ? 'No layout fits this template yet.' : 'No block fits this template yet.'}{' '}
            <TextLink href="/templates/blocks">Blocks</TextLink>
          </span>
        ) : null}
        {blocks.error === null ? null : (
          <span className={styles['fault']}>Blocks could not be read: {blocks.error.message}</span>
        )}
        <Fault id={`${id}-block-fault`} text={fault('block')} />
        {slug === '' ? null : (
          <span>
            <TextLink href={`/templates/blocks/${encodeURIComponent(slug)}`}>Open the block</TextLink>
          </span>
        )}
      </div>
      {slug === '' ? null : (
        <>
          <div className={styles['field']}>
            <label htmlFor={`${id}-version`}>Version</label>
            <select
              id={`${id}-version`}
              className={styles['input']}
              disabled={isDisabled}
              {...described('version')}
              value={version === undefined ? FOLLOWS : String(version as string | number)}
              onChange={({ target }) =>
                set('version', target.value === FOLLOWS ? undefined : Number(target.value), 'Change the version')
              }
            >
              <option value={FOLLOWS}>Always the newest</option>
              {(block.data?.versions ?? []).map((one) => (
                <option key={one.version} value={one.version}>
                  Stay at version {one.version}
                  {one.current ? ', the newest' : ''}
                </option>
              ))}
              {typeof version === 'number' && block.data?.versions.some((one) => one.version === version) !== true ? (
                <option value={version}>Stay at version {version}</option>
              ) : null}
            </select>
            <Fault id={`${id}-version-fault`} text={fault('version')} />
          </div>
          {block.error === null ? null : <span className={styles['fault']}>{block.error.message}</span>}
          <BlockValues
            variables={variablesIn(block.data?.record.variables ?? [])}
            values={values}
            steps={[...steps, 'variables']}
            onChange={(next) => set('variables', next, 'Change a value of the block')}
          />
        </>
      )}
    </>
  );
};

const jsonField = (label: string): Field => ({ name: 'value', steps: [], kind: 'rules', label, group: 'content' });

/** A field for each variable of the block, and for each other name that the template hands over. */
const BlockValues = ({
  variables,
  values,
  steps,
  onChange,
}: Readonly<{
  variables: readonly Variable[];
  values: Json;
  steps: Steps;
  onChange: (values: Json | undefined) => void;
}>) => {
  const { draft, around, faultAt } = useForm();
  const id = useId();
  const known = new Set(variables.map(({ name }) => name));
  const others = Object.keys(values)
    .filter((name) => !known.has(name))
    .map((name): Variable => ({ name, type: 'unknown', isRequired: false, about: 'The block does not have it.' }));
  const set = (name: string, value: unknown): void => {
    const left = Object.fromEntries(Object.entries(values).filter(([one]) => one !== name));
    const next = value === undefined ? left : { ...values, [name]: value };
    onChange(Object.keys(next).length === 0 ? undefined : next);
  };
  return [...variables, ...others].map(({ name, type, about, usual, isRequired }, at) => {
    const value = values[name];
    const fault = faultAt([...steps, name]);
    const marks = {
      id: `${id}-${at}`,
      ...(draft.canWrite ? {} : { disabled: true }),
      ...(fault === undefined ? {} : { 'aria-invalid': true as const, 'aria-describedby': `${id}-${at}-fault` }),
    };
    return (
      <div key={name} className={styles['field']}>
        <label htmlFor={`${id}-${at}`}>
          {name}
          {isRequired ? null : <span className={styles['optional']}>optional</span>}
        </label>
        {typeof value === 'object' && value !== null ? (
          <JsonControl
            field={jsonField(name)}
            value={value}
            write={(next) => set(name, next)}
            marks={marks}
            around={around}
          />
        ) : (
          <VariableInput
            marks={marks}
            label={name}
            value={value === undefined || value === null ? '' : String(value as string | number | boolean)}
            names={around.names}
            placeholder={usual}
            onChange={(text) => set(name, text === '' ? undefined : valueOf(type, text))}
          />
        )}
        {about === undefined ? null : <span className={styles['hint']}>{about}</span>}
        <Fault id={`${id}-${at}-fault`} text={fault} />
      </div>
    );
  });
};

const Fault = ({ id, text }: Readonly<{ id: string; text: string | undefined }>) =>
  text === undefined ? null : (
    <span id={id} className={styles['fault']}>
      {text}
    </span>
  );
