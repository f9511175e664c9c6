/** The form of what is selected in a template: a component, a section, a page; else the mail, document or block. */
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useState } from 'react';
import { useTeam } from '../../../api/team';
import { Notice, Spinner } from '../../../ui/controls';
import { type FormDraft, FormProvider } from './context';
import { FieldRow } from './field-row';
import { type Field, type Form, formOf, type GroupId, groupsOf, groupTitles } from './fields.js';
import styles from './forms.module.css';
import { fieldsOf, listsOf, namesOf, scopeAt } from './names.js';
import { isObject, type Place, placeOf, placesOf, propsOf, type Steps, typeOf, writtenSteps } from './place.js';
import { type Support, supportSentence } from './support.js';
import { colorsOf } from './values.js';

export type { FormDraft } from './context';

const ConditionForm = lazy(() => import('./rare').then((loaded) => ({ default: loaded.ConditionForm })));
const IncludeForm = lazy(() => import('./rare').then((loaded) => ({ default: loaded.IncludeForm })));

/** Groups that are open until somebody closes them. */
const openGroups: ReadonlySet<GroupId> = new Set<GroupId>(['content', 'mail']);

/** Placeholders that headers and footers of pages know. */
const pageNames = [
  { path: 'pageNumber', type: 'number', about: 'The number of the sheet' },
  { path: 'totalPages', type: 'number', about: 'How many sheets there are' },
];

const isBelow = (path: string, above: string): boolean =>
  above === '' || path === above || (path.startsWith(above) && /^[.[ ]/.test(path.slice(above.length)));

/** Faults of what is inside stand in the forms of those. */
const INSIDE = /^(?:\.|^)(?:schema\.)?(?:children|elseChildren|components|sections|pages)\b/;

/** The data of caniemail.com is read once, when a form of a mail is shown. */
const useSupport = (isMail: boolean): Support | undefined => {
  const [support, setSupport] = useState<Support>();
  useEffect(() => {
    if (!isMail) return;
    let isGone = false;
    void import('#client-support').then(({ default: table }) => {
      if (!isGone) setSupport(table);
    });
    return () => {
      isGone = true;
    };
  }, [isMail]);
  return support;
};

export const PropertiesForm = ({ draft }: Readonly<{ draft: FormDraft }>) => {
  const { id: teamId } = useTeam();
  const { content, variables, selected, kind, faults } = draft;
  const support = useSupport(kind === 'email');
  const place = useMemo(() => (selected === undefined ? undefined : placeOf(content, selected)), [content, selected]);
  const form = useMemo(() => formOf(kind, content, place), [kind, content, place]);
  const around = useMemo(() => {
    const scope = scopeAt(
      content,
      variables,
      place?.parents ?? [],
      place?.what === 'component' ? place.node : undefined,
    );
    return {
      names: [...(place?.what === 'page' ? pageNames : []), ...namesOf(scope)],
      lists: listsOf(scope),
      members: fieldsOf(scope, place === undefined ? undefined : propsOf(place.node)['dataSource']),
      colors: colorsOf(content),
      isDocument: kind === 'attachment',
      teamId,
    };
  }, [content, variables, place, kind, teamId]);
  const state = {
    ...{ draft, around, place },
    supportOf: (name: string, value: unknown) =>
      support === undefined ? undefined : supportSentence(support, name, value),
    faultAt: (steps: Steps) => {
      const at = writtenSteps(steps);
      return faults.find(({ path }) => isBelow(path, at))?.message;
    },
  };
  return (
    <FormProvider value={state}>
      <section className={styles['form']} aria-label={`Properties: ${form.title}`} key={selected ?? ''}>
        <header className={styles['head']}>
          <h2>{form.title}</h2>
          {place === undefined ? null : (
            <code>{String(place.node[place.what === 'page' ? 'pageId' : 'id'] ?? '')}</code>
          )}
        </header>
        <OtherFaults draft={draft} form={form} place={place} />
        <Suspense fallback={<Spinner />}>
          <OwnForm draft={draft} place={place} />
        </Suspense>
        <Groups draft={draft} form={form} place={place} />
      </section>
    </FormProvider>
  );
};

type Part = Readonly<{ draft: FormDraft; place: Place | undefined }>;

/** Faults of this place that no field of it shows. */
const OtherFaults = ({ draft, form, place }: Part & Readonly<{ form: Form }>) => {
  const here = writtenSteps(form.steps);
  const shown = form.fields.map(({ steps }) => writtenSteps([...form.steps, ...steps]));
  const own = new Set(['conditional', 'include']).has(place === undefined ? '' : typeOf(place.node));
  const others = draft.faults.filter(
    ({ path }) =>
      isBelow(path, here) &&
      !INSIDE.test(path.slice(here.length)) &&
      !(own && path.startsWith(`${here}.props`)) &&
      !(place === undefined && /^(?:variables|translations|schema\.layout)\b/.test(path)) &&
      !shown.some((above) => isBelow(path, above)),
  );
  return others.length === 0 ? null : (
    <Notice kind="fault">
      {others.map(({ path, message }) => (
        <p key={`${path} ${message}`}>
          {path.slice(here.length).replace(/^\./, '')} {message}
        </p>
      ))}
    </Notice>
  );
};

/** The parts of a form that are no list of properties. */
const OwnForm = ({ draft, place }: Part): ReactNode => {
  if (place?.what === 'component' && typeOf(place.node) === 'conditional') return <ConditionForm place={place} />;
  if (place?.what === 'component' && typeOf(place.node) === 'include')
    return <IncludeForm steps={[...place.steps, 'props']} isLayout={false} />;
  if (place?.what === 'section' && typeOf(place.node) === 'slot')
    return <p>The sections of a template stand in the place of this one.</p>;
  if (place !== undefined || draft.kind !== 'attachment') return null;
  const pages = [...placesOf(draft.content)].filter(({ what }) => what === 'page');
  return pages.length === 0 ? null : (
    <div className={styles['field']}>
      <span className={styles['label']}>Settings of pages</span>
      <span className={styles['buttons']}>
        {pages.map(({ node }) => (
          <button
            key={String(node['pageId'])}
            type="button"
            className={styles['link']}
            onClick={() => draft.select(`page:${String(node['pageId'])}`)}
          >
            {String(node['pageName'] ?? node['pageId'])}
          </button>
        ))}
      </span>
    </div>
  );
};

const isWritten = (root: unknown, { steps }: Field): boolean => {
  let value = root;
  for (const step of steps) value = isObject(value) ? value[String(step)] : undefined;
  return value !== undefined;
};

const Groups = ({ draft, form, place }: Part & Readonly<{ form: Form }>) => {
  const [toggled, setToggled] = useState<Readonly<Partial<Record<GroupId, boolean>>>>({});
  const root = place?.node ?? draft.content;
  const groups = groupsOf(form.fields);
  const hasLayout = place === undefined && draft.kind !== 'block';
  return (
    <>
      {groups.map(([group, fields], at) => {
        const hasFault = fields.some(({ steps }) => {
          const path = writtenSteps([...form.steps, ...steps]);
          return draft.faults.some((fault) => isBelow(fault.path, path));
        });
        const isOpen = toggled[group] ?? (at === 0 || openGroups.has(group) || hasFault);
        const written = fields.filter((field) => isWritten(root, field)).length;
        return (
          <Group
            key={group}
            title={groupTitles[group]}
            count={isOpen ? 0 : written}
            isOpen={isOpen}
            onToggle={() => setToggled({ ...toggled, [group]: !isOpen })}
          >
            {fields.map((field) => (
              <FieldRow key={`${field.name} ${field.steps.join('.')}`} field={field} base={form.steps} />
            ))}
          </Group>
        );
      })}
      {hasLayout ? (
        <Group
          title="Layout"
          count={0}
          isOpen={toggled.paper ?? isWritten(draft.content, layoutField)}
          onToggle={() => setToggled({ ...toggled, paper: !(toggled.paper ?? isWritten(draft.content, layoutField)) })}
        >
          <Suspense fallback={<Spinner />}>
            <IncludeForm steps={layoutField.steps} isLayout />
          </Suspense>
        </Group>
      ) : null}
    </>
  );
};

const layoutField = { steps: ['schema', 'layout'] } as unknown as Field;

/** `count`: how many of its fields are written, told while it is closed. */
const Group = ({
  title,
  count,
  isOpen,
  onToggle,
  children,
}: Readonly<{ title: string; count: number; isOpen: boolean; onToggle: () => void; children: ReactNode }>) => (
  <div className={styles['group']}>
    <h3>
      <button type="button" className={styles['groupTitle']} aria-expanded={isOpen} onClick={onToggle}>
        {title}
        {count === 0 ? null : <span className={styles['count']}>{count}</span>}
      </button>
    </h3>
    {isOpen ? <div className={styles['fields']}>{children}</div> : null}
  </div>
);
