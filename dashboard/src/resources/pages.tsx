/** The pages of a declared resource: its list, one of its things, the form of a new one, and of a change. */
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { ApiFault } from '../api/client';
import { Button, ButtonLink, Spinner, TextLink } from '../ui/controls';
import { cx } from '../ui/cx';
import { Fault, Loading, State } from '../ui/states';
import { useTitle } from '../ui/title';
import { useIsPhone } from '../ui/width';
import { ActButtons } from './dialogs';
import { draftOf } from './draft';
import { FieldRow, ValuesForm } from './form';
import styles from './page.module.css';
import { usePlace } from './place';
import {
  type Act,
  changedOf,
  type Done,
  initialOf,
  may,
  type Page,
  type Permission,
  type Resource,
  type RowsOf,
  type Scope,
  type Values,
} from './resource';

const PAGE_ROWS = 50;

/** Fewer rows are counted at a glance. */
const FEW_ROWS = 10;

/** In: a declaration. Out: the component of its addresses, which gets the steps behind its path. */
export const resourcePages = <Row,>(resource: Resource<Row>) => {
  const Pages = ({ steps }: Readonly<{ steps: readonly string[] }>) => {
    const { scope } = usePlace();
    const [id, what] = steps;
    if (!may(scope, resource.needs)) return <NotAllowed needs={resource.needs} title={resource.many} />;
    if (id === undefined) return <ListPage resource={resource} />;
    if (id === 'new' && what === undefined && resource.create !== undefined) {
      if ('Page' in resource.create) return <resource.create.Page />;
      return <NewPage resource={resource} create={resource.create} />;
    }
    if (resource.get === undefined || (what !== undefined && (what !== 'edit' || resource.change === undefined)))
      return <NothingHere title={resource.many} />;
    return <OnePage key={id} resource={resource} id={id} isChanged={what === 'edit'} />;
  };
  return Pages;
};

export const NotAllowed = ({ needs, title }: Readonly<{ needs: Permission; title: string }>) => {
  const { scope } = usePlace();
  return (
    <>
      <PageHead title={title} />
      <State title="You may not see this" isAlert>
        <p>
          As {scope.team.role} of {scope.team.name} you lack the permission <code>{needs}</code>. An owner or admin of
          the team can give you another role.
        </p>
      </State>
    </>
  );
};

export const NothingHere = ({ title }: Readonly<{ title: string }>) => (
  <>
    <PageHead title={title} />
    <State title="There is nothing here" isAlert>
      <p>The address may be mistyped, or what it named is gone.</p>
    </State>
  </>
);

type PageHeadProps = Readonly<{
  title: string;
  back?: Readonly<{ href: string; name: string }>;
  badge?: ReactNode;
  children?: ReactNode;
}>;

let isFirstPage = true;

/** The title of a page and its buttons. A focus that went with the page before is given to the title. */
export const PageHead = ({ title, back, badge, children }: PageHeadProps) => {
  const heading = useRef<HTMLHeadingElement>(null);
  useTitle(back === undefined ? title : `${title} · ${back.name}`);
  useEffect(() => {
    if (!isFirstPage && (document.activeElement === document.body || document.activeElement === null))
      heading.current?.focus();
    isFirstPage = false;
  }, [title]);
  return (
    <header className={styles['head']}>
      <div className={styles['titles']}>
        {back === undefined ? null : (
          <nav aria-label="Above this page">
            <TextLink href={back.href}>{back.name}</TextLink>
          </nav>
        )}
        <h1 ref={heading} tabIndex={-1}>
          <bdi>{title}</bdi> {badge}
        </h1>
      </div>
      <div className={styles['buttons']}>{children}</div>
    </header>
  );
};

const keyOf = <Row,>({ path }: Resource<Row>, { teamId }: Scope) => [path, teamId] as const;

/** Reads lists and things of the resource again, and those of others that show them. */
export const useAgain = (): (() => Promise<void>) => {
  const client = useQueryClient();
  return () => client.invalidateQueries({ predicate: isOfResource });
};

const isOfResource = ({ queryKey }: Readonly<{ queryKey: readonly unknown[] }>): boolean =>
  String(queryKey[0]).startsWith('/');

const useChosen = <Row,>({ filters = [] }: Resource<Row>): Readonly<Record<string, string>> => {
  const address = useLocation({ select: ({ search }) => search as Readonly<Record<string, string | undefined>> });
  return useMemo(
    () =>
      Object.fromEntries(
        filters.flatMap(({ name }) => (address[name] === undefined ? [] : [[name, address[name]] as const])),
      ),
    [address, filters],
  );
};

type Filters = Readonly<Record<string, string>>;

const NO_FILTERS: Filters = {};

const useList = <Row,>(resource: Resource<Row>, chosen: Filters) => {
  const { scope } = usePlace();
  const list = useInfiniteQuery({
    queryKey: [...keyOf(resource, scope), 'list', chosen],
    initialPageParam: undefined as string | undefined,
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam, signal }): Promise<Page<Row>> =>
      resource.list(
        { ...chosen, limit: PAGE_ROWS, ...(pageParam === undefined ? {} : { cursor: pageParam }) },
        scope,
        signal,
      ),
    getNextPageParam: (last) => last.meta?.nextCursor ?? undefined,
    refetchInterval: ({ state }) => resource.refreshMs?.(state.data?.pages.flatMap(({ data }) => data) ?? []) ?? false,
  });
  return { list, rows: list.data?.pages.flatMap(({ data }) => data) };
};

const ListPage = <Row,>({ resource }: Readonly<{ resource: Resource<Row> }>) => {
  const { scope } = usePlace();
  const again = useAgain();
  const { path, many, about, create, tools = [], links = [], filters = [], Below } = resource;
  const chosen = useChosen(resource);
  const { list, rows } = useList(resource, chosen);
  const isEmptyYet = rows?.length === 0 && Object.keys(chosen).length === 0;
  const creates = create !== undefined && may(scope, create.needs ?? resource.needs);
  const button = creates ? (
    <ButtonLink href={`${path}/new`} look="main">
      {create.label}
    </ButtonLink>
  ) : null;
  return (
    <>
      <PageHead title={many}>
        <ActButtons acts={tools} row={undefined} onDone={() => void again()} />
        {links
          .filter(({ needs }) => may(scope, needs))
          .map(({ label, href }) => (
            <ButtonLink key={href} href={href}>
              {label}
            </ButtonLink>
          ))}
        {isEmptyYet ? null : button}
      </PageHead>
      {isEmptyYet ? null : <p className={styles['about']}>{about}</p>}
      {filters.length === 0 || (isEmptyYet && resource.hasPage === undefined) ? null : (
        <FilterRow resource={resource} chosen={chosen} />
      )}
      <Found resource={resource} list={list} rows={rows} isFiltered={!isEmptyYet} button={button} />
      {Below === undefined ? null : <Below scope={scope} />}
    </>
  );
};

/** A list inside of another page. Its filters are not in the address. */
export const ResourceList = <Row,>({ resource }: Readonly<{ resource: Resource<Row> }>) => {
  const { list, rows } = useList(resource, NO_FILTERS);
  return <Found resource={resource} list={list} rows={rows} isFiltered={false} button={null} />;
};

/** A name inside of a sentence: one that begins like API keeps its capitals. */
const inSentence = (name: string): string =>
  /^[A-Z][a-z]/.test(name) ? name.charAt(0).toLowerCase() + name.slice(1) : name;

type FoundProps<Row> = Readonly<{
  resource: Resource<Row>;
  list: ReturnType<typeof useList<Row>>['list'];
  rows: readonly Row[] | undefined;
  isFiltered: boolean;
  button: ReactNode;
}>;

const Found = <Row,>({ resource, list, rows, isFiltered, button }: FoundProps<Row>) => {
  const { many, path } = resource;
  const meta = list.data?.pages[0]?.meta;
  if (rows === undefined)
    return list.error === null ? (
      <Loading label={`Loading ${many}`} />
    ) : (
      <Fault fault={list.error} retry={() => void list.refetch()} />
    );
  if (rows.length === 0)
    return isFiltered ? (
      <State title={`No ${resource.one} matches`} act={<ButtonLink href={path}>Clear the filters</ButtonLink>} />
    ) : (
      <State title={`No ${inSentence(many)} yet`} act={button}>
        <p>{resource.first ?? resource.about}</p>
      </State>
    );
  return (
    <>
      <Rows resource={resource} rows={rows} isOld={list.isPlaceholderData} />
      <div className={styles['foot']}>
        {rows.length < FEW_ROWS && !list.hasNextPage ? null : (
          <span>
            {list.hasNextPage ? null : 'All '}
            {rows.length.toLocaleString()}
            {meta?.total === undefined || !list.hasNextPage
              ? null
              : ` of ${meta.total.toLocaleString()}${meta.totalIsLowerBound === true ? '+' : ''}`}
          </span>
        )}
        {list.hasNextPage ? (
          <Button isPending={list.isFetchingNextPage} onPress={() => void list.fetchNextPage()}>
            {list.isFetchingNextPage ? <Spinner /> : null} Show more
          </Button>
        ) : null}
        {list.error === null ? null : <span role="alert">{list.error.message}</span>}
      </div>
    </>
  );
};

type FiltersProps<Row> = Readonly<{ resource: Resource<Row>; chosen: Filters }>;

/** Choices filter at once; a text does when the reader presses Enter or leaves it. */
const FilterRow = <Row,>({ resource: { path, filters = [] }, chosen }: FiltersProps<Row>) => {
  const { go } = usePlace();
  const [typed, setTyped] = useState<Values>({});
  useEffect(() => setTyped({}), [chosen]);
  const now = { ...chosen, ...typed };
  const apply = (values: Values): void =>
    go(
      path,
      Object.fromEntries(
        Object.entries(values).flatMap(([name, value]) =>
          typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()]] : [],
        ),
      ),
    );
  const applyTyped = (): void => {
    if (Object.entries(typed).some(([name, value]) => value !== (chosen[name] ?? ''))) apply(now);
  };
  return (
    <form
      className={styles['filters']}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        applyTyped();
      }}
      onBlur={applyTyped}
    >
      {filters.map((field) => (
        <FieldRow
          key={field.name}
          field={field}
          isFilter
          value={now[field.name] ?? ''}
          onChange={(value) => {
            if (field.kind === 'select') apply({ ...now, [field.name]: value });
            else setTyped({ ...typed, [field.name]: value });
          }}
        />
      ))}
      {Object.keys(chosen).length === 0 ? null : <ButtonLink href={path}>Clear</ButtonLink>}
      {/* Enter submits a form of several fields only where it has such a button. */}
      <button type="submit" hidden />
    </form>
  );
};

type RowsProps<Row> = Readonly<{ resource: RowsOf<Row>; rows: readonly Row[]; isOld?: boolean }>;

export const Rows = <Row,>({ resource, rows, isOld = false }: RowsProps<Row>) => {
  const { scope } = usePlace();
  const isPhone = useIsPhone();
  const again = useAgain();
  const { columns, idOf, titleOf, path = '' } = resource;
  const hasPage = (row: Row): boolean => resource.get !== undefined && (resource.hasPage?.(row) ?? true);
  const rowActs = (row: Row): readonly Act<Row>[] => (hasPage(row) ? [] : actsOf(resource.acts ?? [], row, scope));
  const hasActs = rows.some((row) => rowActs(row).length > 0);
  const titleCell = (row: Row): ReactNode => {
    const cell = columns[0]?.cell(row, scope);
    return !hasPage(row) ? (
      cell
    ) : (
      <TextLink href={`${path}/${encodeURIComponent(idOf(row))}`}>
        <span className={styles['stretch']}>{cell}</span>
      </TextLink>
    );
  };
  const buttons = (row: Row): ReactNode => (
    <ActButtons acts={rowActs(row)} row={row} of={titleOf(row)} isSmall onDone={() => void again()} />
  );
  if (isPhone)
    return (
      <ul className={cx(styles['cards'], isOld && styles['old'])} aria-label={resource.many}>
        {rows.map((row) => (
          <li key={idOf(row)} className={styles['card']}>
            <div className={styles['cardTitle']}>{titleCell(row)}</div>
            <dl>
              {columns
                .slice(1)
                .filter(({ isWide }) => isWide !== true)
                .map(({ name, cell }) => [name, cell(row, scope)] as const)
                .filter(([, value]) => value !== '')
                .map(([name, value]) => (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                  </div>
                ))}
            </dl>
            {rowActs(row).length > 0 ? <div className={styles['buttons']}>{buttons(row)}</div> : null}
          </li>
        ))}
      </ul>
    );
  return (
    <div className={styles['scroll']}>
      <table className={cx(styles['table'], isOld && styles['old'])} aria-label={resource.many}>
        <thead>
          <tr>
            {columns.map(({ name, isEnd }) => (
              <th key={name} scope="col" className={cx(isEnd && styles['end'])}>
                {name}
              </th>
            ))}
            {hasActs ? (
              <th scope="col">
                <span className={styles['hidden']}>What may be done</span>
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={idOf(row)} className={cx(hasPage(row) && styles['link'])}>
              {columns.map(({ name, cell, isEnd }, place) =>
                place === 0 ? (
                  <th key={name} scope="row">
                    {titleCell(row)}
                  </th>
                ) : (
                  <td key={name} className={cx(isEnd && styles['end'])}>
                    {cell(row, scope)}
                  </td>
                ),
              )}
              {hasActs ? (
                <td>
                  <div className={cx(styles['buttons'], styles['rowButtons'])}>{buttons(row)}</div>
                </td>
              ) : null}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};

const actsOf = <Row,>(acts: readonly Act<Row>[], row: Row, scope: Scope): readonly Act<Row>[] =>
  acts.filter(({ needs, isFor }) => may(scope, needs) && (isFor?.(row, scope) ?? true));

type NewPageProps<Row> = Readonly<{
  resource: Resource<Row>;
  create: Extract<NonNullable<Resource<Row>['create']>, { run: unknown }>;
}>;

const NewPage = <Row,>({ resource, create }: NewPageProps<Row>) => {
  const { scope, tell, go } = usePlace();
  const again = useAgain();
  const { path, many } = resource;
  const fields = useMemo(() => create.fields(scope), [create, scope]);
  const draft = useMemo(() => draftOf(scope.me.id, `${path}/new`, fields), [scope, path, fields]);
  const needs = create.needs ?? resource.needs;
  if (!may(scope, needs)) return <NotAllowed needs={needs} title={create.label} />;
  return (
    <>
      <PageHead title={create.label} back={{ href: path, name: many }} />
      <div className={styles['narrow']}>
        <ValuesForm
          fields={fields}
          kept={draft.kept}
          onChange={draft.keep}
          label={create.label}
          onCancel={() => {
            draft.drop();
            go(path);
          }}
          onSubmit={async (values) => {
            const done = await create.run(values, scope);
            draft.drop();
            void again();
            tell({ ...done, open: done.open ?? path });
          }}
        />
      </div>
    </>
  );
};

type OnePageProps<Row> = Readonly<{ resource: Resource<Row>; id: string; isChanged: boolean }>;

const OnePage = <Row,>({ resource, id, isChanged }: OnePageProps<Row>) => {
  const { scope } = usePlace();
  const again = useAgain();
  const { path, many, get, refreshMs } = resource;
  const one = useQuery({
    queryKey: [...keyOf(resource, scope), 'one', id],
    queryFn: ({ signal }): Promise<Row> => {
      if (get === undefined) throw new Error('the resource has no page of one');
      return get(id, scope, signal);
    },
    refetchInterval: ({ state }) => (state.data === undefined ? false : (refreshMs?.([state.data]) ?? false)),
  });
  const back = { href: path, name: many };
  const row = one.data;
  if (row === undefined)
    return (
      <>
        <PageHead title={resource.one.charAt(0).toUpperCase() + resource.one.slice(1)} back={back} />
        {one.error === null ? (
          <Loading label={`Loading the ${resource.one}`} />
        ) : one.error instanceof ApiFault && one.error.status === 404 ? (
          <State
            title={`There is no such ${resource.one}`}
            isAlert
            act={<ButtonLink href={path}>See all {many}</ButtonLink>}
          >
            <p>{one.error.message}</p>
          </State>
        ) : (
          <Fault fault={one.error} retry={() => void one.refetch()} />
        )}
      </>
    );
  if (isChanged) return <ChangePage resource={resource} row={row} />;
  return <Thing resource={resource} row={row} again={again} />;
};

const Thing = <Row,>({
  resource,
  row,
  again,
}: Readonly<{ resource: Resource<Row>; row: Row; again: () => Promise<void> }>) => {
  const { scope, go } = usePlace();
  const client = useQueryClient();
  const { path, many, change, More } = resource;
  const address = `${path}/${encodeURIComponent(resource.idOf(row))}`;
  const mayChange = change !== undefined && may(scope, change.needs ?? resource.needs) && (change.isFor?.(row) ?? true);
  const key = [...keyOf(resource, scope), 'one', resource.idOf(row)];
  const forget = useRef((): void => undefined);
  useEffect(() => () => forget.current(), []);
  const done = (result: Done): void => {
    if (result.isGone !== true) return void again();
    // This page stands until the list is drawn, and must not read a thing that is gone. The list reads itself.
    forget.current = () => client.removeQueries({ queryKey: key });
    void client.invalidateQueries({ predicate: isOfResource, refetchType: 'none' });
    go(path);
  };
  return (
    <>
      <PageHead title={resource.titleOf(row)} back={{ href: path, name: many }} badge={resource.badge?.(row)}>
        {mayChange ? <ButtonLink href={`${address}/edit`}>Change</ButtonLink> : null}
        <ActButtons acts={resource.acts ?? []} row={row} onDone={done} />
      </PageHead>
      <Facts facts={resource.facts?.(row, scope) ?? []} />
      {More === undefined ? null : <More row={row} scope={scope} />}
    </>
  );
};

/** Names with their values. */
export const Facts = ({ facts }: Readonly<{ facts: readonly (readonly [string, ReactNode] | undefined)[] }>) => (
  <dl className={styles['facts']}>
    {facts.map((fact) =>
      fact === undefined ? null : (
        <div key={fact[0]}>
          <dt>{fact[0]}</dt>
          <dd>{fact[1]}</dd>
        </div>
      ),
    )}
  </dl>
);

const ChangePage = <Row,>({ resource, row }: Readonly<{ resource: Resource<Row>; row: Row }>) => {
  const { scope, tell, go } = usePlace();
  const again = useAgain();
  const { change, path } = resource;
  const address = `${path}/${encodeURIComponent(resource.idOf(row))}`;
  // Fields of the thing as it was when the form was opened: a later read of it does not undo what was typed.
  const [fields] = useState(() => change?.fields(row, scope) ?? []);
  const draft = useMemo(() => draftOf(scope.me.id, `${address}/edit`, fields), [scope, address, fields]);
  if (change === undefined) return null;
  const title = `Change ${resource.titleOf(row)}`;
  const needs = change.needs ?? resource.needs;
  if (!may(scope, needs) || change.isFor?.(row) === false) return <NotAllowed needs={needs} title={title} />;
  return (
    <>
      <PageHead title={title} back={{ href: address, name: resource.titleOf(row) }} />
      <div className={styles['narrow']}>
        <ValuesForm
          fields={fields}
          kept={draft.kept}
          onChange={draft.keep}
          label="Save"
          onCancel={() => {
            draft.drop();
            go(address);
          }}
          onSubmit={async (values) => {
            const changed = changedOf(initialOf(fields), values);
            const done: Done =
              Object.keys(changed).length === 0
                ? { say: 'Nothing was changed.' }
                : await change.run(row, changed, scope);
            draft.drop();
            await again();
            tell({ ...done, open: address });
          }}
        />
      </div>
    </>
  );
};

/** A part of a page with a title of its own. */
export const Section = ({
  title,
  about,
  buttons,
  children,
}: Readonly<{ title: string; about?: ReactNode; buttons?: ReactNode; children?: ReactNode }>) => (
  <section className={styles['section']} aria-label={title}>
    <div className={styles['sectionHead']}>
      <h2>{title}</h2>
      {buttons === undefined ? null : <div className={styles['buttons']}>{buttons}</div>}
    </div>
    {about === undefined ? null : <p className={styles['soft']}>{about}</p>}
    {children}
  </section>
);
