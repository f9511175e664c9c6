/** The published versions of a template, and the difference of any two. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { ActDialog } from '../resources/dialogs';
import { usePlace } from '../resources/place';
import type { Act } from '../resources/resource';
import { Button } from '../ui/controls';
import { Fault, Loading, State } from '../ui/states';
import { Moment } from '../ui/time';
import { type Content, contentOf, wholeOf } from './content';
import { differencesOf } from './service';
import { Differences } from './differences';
import { apiOf, type VersionItem } from './kinds';
import type { ViewProps } from './page';
import { Choice } from './preview';
import styles from './views.module.css';

const JsonDifference = lazy(() => import('./merge'));

/** One side of a difference: the number of a version, the saved draft, or what is written. */
type Side = 'written' | 'saved' | `${number}`;

const VersionsView = ({ draft }: ViewProps) => {
  const { scope, tell } = usePlace();
  const client = useQueryClient();
  const { kind, stored, isChanged, canWrite } = draft;
  const { teamId } = scope;
  const versions = useQuery({
    queryKey: ['template-versions', teamId, kind, stored.id, stored.publishedVersion],
    queryFn: ({ signal }) => apiOf[kind].versions(stored.id, { teamId, signal }),
  });
  const [before, setBefore] = useState<Side>();
  const [after, setAfter] = useState<Side>('written');
  const [how, setHow] = useState<'words' | 'json'>('words');
  const [restored, setRestored] = useState<Act<VersionItem>>();
  const [asked, setAsked] = useState<VersionItem>();
  const rows = versions.data?.data;
  const shownBefore = before ?? (rows?.[0] === undefined ? 'saved' : (`${rows[0].version}` as const));
  const left = useSide(shownBefore, draft);
  const right = useSide(after, draft);

  if (rows === undefined)
    return versions.error === null ? (
      <Loading label="Loading the versions" />
    ) : (
      <Fault fault={versions.error} retry={() => void versions.refetch()} />
    );
  const restore: Act<VersionItem> = {
    label: 'Restore',
    ask: ({ version }) => ({
      title: `Make version ${version} the draft?`,
      text: (
        <p>
          {isChanged
            ? 'Your changes that are not saved are replaced by it; Undo brings them back. '
            : 'The draft is replaced by it. '}
          What is published stays as it is until the next publish.
        </p>
      ),
    }),
    run: async ({ version }) => {
      const next = await apiOf[kind].restoreVersion(stored.id, version, { teamId, ifMatch: stored.revision });
      draft.take(next, { label: `Version ${version}` });
      void client.invalidateQueries({ queryKey: ['template-versions'] });
      return { say: `Version ${version} is the draft again.` };
    },
  };
  const sides: readonly (readonly [Side, string])[] = [
    ['written', isChanged ? 'what you write' : 'the draft'],
    ...(isChanged ? [['saved', 'the saved draft'] as const] : []),
    ...rows.map(({ version, current }) => [`${version}`, `version ${version}${current ? ', published' : ''}`] as const),
  ];
  return (
    <div className={styles['view']}>
      {rows.length === 0 ? (
        <State title="Nothing is published yet">
          <p>Each publish makes a version, which never changes.</p>
        </State>
      ) : (
        <ul className={styles['versions']} aria-label="Versions">
          {rows.map((row) => (
            <li key={row.version}>
              <span>
                <strong>Version {row.version}</strong> <bdi>{row.name}</bdi>
                {row.current ? <span className={styles['tag']}>published</span> : null}
              </span>
              <span className={styles['soft']}>
                <Moment at={row.publishedAt} />
              </span>
              <span className={styles['row']}>
                <Button
                  isSmall
                  aria-label={`Compare version ${row.version} with the draft`}
                  onPress={() => {
                    setBefore(`${row.version}`);
                    setAfter('written');
                  }}
                >
                  Compare
                </Button>
                {canWrite ? (
                  <Button
                    isSmall
                    aria-label={`Restore version ${row.version}`}
                    onPress={() => {
                      setRestored(restore);
                      setAsked(row);
                    }}
                  >
                    Restore…
                  </Button>
                ) : null}
              </span>
            </li>
          ))}
        </ul>
      )}
      <section className={styles['part']} aria-label="Difference">
        <div className={styles['row']}>
          <SideChoice label="From" value={shownBefore} sides={sides} onChange={setBefore} />
          <SideChoice label="To" value={after} sides={sides} onChange={setAfter} />
          <Choice label="Shown as" value={how} options={{ words: 'In words', json: 'JSON' }} onChange={setHow} />
        </div>
        {left.fault !== null || right.fault !== null ? (
          <Fault fault={left.fault ?? right.fault ?? new Error('')} />
        ) : left.content === undefined || right.content === undefined ? (
          <Loading label="Loading the versions" />
        ) : how === 'words' ? (
          <Differences of={differencesOf(wholeOf(kind, left.content), wholeOf(kind, right.content))} />
        ) : (
          <Suspense fallback={<Loading label="Comparing" />}>
            <JsonDifference before={wholeOf(kind, left.content)} after={wholeOf(kind, right.content)} />
          </Suspense>
        )}
      </section>
      {restored === undefined || asked === undefined ? null : (
        <ActDialog
          act={restored}
          row={asked}
          onClose={() => setAsked(undefined)}
          onDone={(done) => {
            setAsked(undefined);
            tell(done);
          }}
        />
      )}
    </div>
  );
};

export default VersionsView;

/** The content of one side. A version never changes, so it is read once. */
const useSide = (
  side: Side,
  { kind, stored, content }: ViewProps['draft'],
): Readonly<{ content: Content | undefined; fault: Error | null }> => {
  const { scope } = usePlace();
  const version = Number(side);
  const read = useQuery({
    queryKey: ['template-version', scope.teamId, kind, stored.id, version],
    enabled: Number.isInteger(version),
    staleTime: Infinity,
    queryFn: ({ signal }) => apiOf[kind].version(stored.id, version, { teamId: scope.teamId, signal }),
  });
  if (side === 'written') return { content, fault: null };
  if (side === 'saved') return { content: contentOf(kind, stored), fault: null };
  return {
    content: read.data === undefined ? undefined : withSlug(contentOf(kind, read.data), content),
    fault: read.error,
  };
};

/** A version has no slug, for a slug is of the whole template. */
const withSlug = (version: Content, { slug }: Content): Content =>
  slug === undefined ? version : { slug, ...version };

const SideChoice = ({
  label,
  value,
  sides,
  onChange,
}: Readonly<{
  label: string;
  value: Side;
  sides: readonly (readonly [Side, string])[];
  onChange: (side: Side) => void;
}>) => (
  <label className={styles['choice']}>
    {label}{' '}
    <select value={value} onChange={({ target }) => onChange(target.value as Side)}>
      {sides.map(([side, title]) => (
        <option key={side} value={side}>
          {title}
        </option>
      ))}
    </select>
  </label>
);
