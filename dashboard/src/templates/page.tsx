/** The page of one template: its head, its views, and the live preview beside them. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import {
  type ComponentType,
  lazy,
  type LazyExoticComponent,
  memo,
  Suspense,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Link } from 'react-aria-components';
import { ApiFault } from '../api/client';
import { PageHead } from '../resources/pages';
import { usePlace } from '../resources/place';
import { may } from '../resources/resource';
import { ButtonLink } from '../ui/controls';
import { cx } from '../ui/cx';
import { Fault, Loading, State } from '../ui/states';
import { StatusBadge } from '../ui/status';
import { useIsPhone } from '../ui/width';
import { Acts } from './acts';
import { bodyOfChange, type Content, contentOf, idAt, isEqual, type Kind, stateOf, type Stored } from './content';
import { type ContentFault, type Draft, useDraft } from './draft';
import { type Kept, keptDraft, useKeeping } from './editor/kept';
import { Back, Refused, useMeanwhile } from './editor/meanwhile';
import { Faults } from './faults';
import { apiOf, queryKeyOf, templatePath, wordsOf } from './kinds';
import { Preview } from './preview';
import { type Previewed, type PreviewSettings, type ShownAs, usePreview } from './previewing';
import { keptSample, keepSample } from './sample';
import styles from './page.module.css';

/** A place in the content that a reader wants to see; a new object for each wish. */
export type Jump = Readonly<{ path: string }>;

/** `settled`: the draft with the content of the last pause of typing; the same object between two pauses. */
export type ViewProps = Readonly<{
  draft: Draft;
  settled: Draft;
  previewed: Previewed;
  settings: PreviewSettings;
  onSettings: (next: PreviewSettings) => void;
  /** The JSON view shows this place. */
  jump: Jump | undefined;
  jumpTo: (path: string) => void;
  /** Makes the preview show something else than the content, such as a part that the sample data hide. */
  onShownAs: (shownAs: ShownAs | undefined) => void;
  /** Text of the JSON view that is no JSON yet, kept while other views are shown. */
  typed: { current: string | undefined };
}>;

/** `hasPreview`: the preview stands beside it, of one kind alone where it names one. */
type View = Readonly<{
  id: string;
  title: string;
  hasPreview: boolean | Kind;
  isFor?: (kind: Kind, canWrite: boolean) => boolean;
  Show: LazyExoticComponent<ComponentType<ViewProps>>;
}>;

const views: readonly View[] = [
  // The canvas is the preview of a mail; of a document the whole stands beside.
  { id: 'design', title: 'Design', hasPreview: 'attachment', Show: lazy(() => import('./editor/design')) },
  { id: 'json', title: 'JSON', hasPreview: true, Show: lazy(() => import('./json')) },
  { id: 'variables', title: 'Variables', hasPreview: true, Show: lazy(() => import('./variables')) },
  { id: 'translations', title: 'Translations', hasPreview: true, Show: lazy(() => import('./translations')) },
  { id: 'versions', title: 'Versions', hasPreview: false, Show: lazy(() => import('./versions')) },
  {
    id: 'usage',
    title: 'Used in',
    hasPreview: false,
    isFor: (kind) => kind === 'block',
    Show: lazy(() => import('./usage')),
  },
  {
    id: 'test',
    title: 'Test',
    hasPreview: true,
    isFor: (kind, canWrite) => kind === 'email' && canWrite,
    Show: lazy(() => import('./test')),
  },
];

const TemplatePage = ({ kind, id }: Readonly<{ kind: Kind; id: string }>) => {
  const { scope } = usePlace();
  const { one, many, path } = wordsOf[kind];
  const stored = useQuery({
    queryKey: queryKeyOf(kind, scope.teamId, id),
    // A draft begins with it, and a later read would not change that.
    staleTime: 0,
    gcTime: 0,
    refetchOnReconnect: false,
    queryFn: ({ signal }) => apiOf[kind].get(id, { teamId: scope.teamId, signal }),
  });
  const kept = useQuery({
    queryKey: [...queryKeyOf(kind, scope.teamId, id), 'kept'],
    staleTime: 0,
    gcTime: 0,
    networkMode: 'always',
    queryFn: async () => (await keptDraft(scope.me.id, scope.teamId, id)) ?? null,
  });
  const { data } = stored;
  if (data !== undefined && !stored.isPlaceholderData && kept.data !== undefined)
    return <Editor kind={kind} newest={data} {...begunWith(kind, data, kept.data)} />;
  return (
    <>
      <PageHead title={one.charAt(0).toUpperCase() + one.slice(1)} back={{ href: path, name: many }} />
      {stored.error === null ? (
        <Loading label="Loading the template" />
      ) : stored.error instanceof ApiFault && stored.error.status === 404 ? (
        <State title={`There is no such ${one}`} isAlert act={<ButtonLink href={path}>See all</ButtonLink>}>
          <p>{stored.error.message}</p>
        </State>
      ) : (
        <Fault fault={stored.error} retry={() => void stored.refetch()} />
      )}
    </>
  );
};

export default TemplatePage;

const localesOf = ({ locale, translations }: Content): readonly string[] => [
  typeof locale === 'string' ? locale : 'en-US',
  ...(typeof translations === 'object' && translations !== null ? Object.keys(translations) : []),
];

const formatsOf = ({ schema }: Content): readonly ('pdf' | 'excel')[] => {
  const formats = (schema as Readonly<{ outputFormats?: unknown }> | undefined)?.outputFormats;
  return Array.isArray(formats) ? (['pdf', 'excel'] as const).filter((one) => formats.includes(one)) : [];
};

/** `first`: the revision that the changes of an earlier visit are made to. */
type Begun = Readonly<{ first: Stored; kept: Kept | undefined }>;

const begunWith = (kind: Kind, newest: Stored, kept: Kept | null): Begun => {
  const now = contentOf(kind, newest);
  // The very changes may have been saved elsewhere.
  if (kept === null || bodyOfChange(kind, kept.content, now) === undefined) return { first: newest, kept: undefined };
  if (kept.revision === newest.revision) return { first: newest, kept };
  const others = Object.fromEntries(Object.entries(newest).filter(([name]) => !Object.hasOwn(now, name)));
  return { first: { ...others, ...kept.base, revision: kept.revision } as Stored, kept };
};

const Editor = ({ kind, newest, first, kept }: Begun & Readonly<{ kind: Kind; newest: Stored }>) => {
  const { scope, go } = usePlace();
  const client = useQueryClient();
  const isPhone = useIsPhone();
  const { id } = first;
  const canWrite = may(scope, 'templates:write');
  const [variables, setKnownVariables] = useState(() => keptSample(scope.me.id, id));
  const setVariables = useCallback<Draft['setVariables']>(
    (next) => {
      setKnownVariables(next);
      keepSample(scope.me.id, id, next);
    },
    [scope.me.id, id],
  );
  const [settings, setSettings] = useState<PreviewSettings>({});
  const onSaved = useCallback(() => {
    // The lists name the state, and who saved.
    void client.invalidateQueries({ queryKey: [wordsOf[kind].path], refetchType: 'none' });
  }, [client, kind]);
  const { draft: unchecked, settled: uncheckedSettled } = useDraft({
    ...{ kind, teamId: scope.teamId, stored: first, canWrite, variables, setVariables, onSaved },
    kept: canWrite ? kept?.content : undefined,
  });
  const { teamId } = scope;
  useKeeping(scope.me.id, teamId, unchecked);
  const meanwhile = useMeanwhile(unchecked, teamId, first === newest ? undefined : newest);
  const [isBack, setIsBack] = useState(kept !== undefined && canWrite);
  const { content } = uncheckedSettled;
  const [shownAs, setShownAs] = useState<ShownAs>();
  const onShownAs = useCallback<ViewProps['onShownAs']>((next) => setShownAs(() => next), []);
  const previewed = usePreview({
    ...{ kind, id, teamId: scope.teamId, variables, settings, canWrite, shownAs },
    content: unchecked.content,
  });
  const { refused } = unchecked;
  const foundFaults = useMemo<readonly ContentFault[]>(() => {
    const found =
      refused === undefined || refused.errors.length === 0 ? (previewed.shown?.errors ?? []) : refused.errors;
    return found.map(({ field, message }) => {
      const at = idAt(content, field);
      return { path: field, message, ...(at === undefined ? {} : { id: at }) };
    });
  }, [previewed.shown, refused, content]);
  const faults = useSame(foundFaults);
  const draft: Draft = { ...unchecked, faults };
  const settled = useMemo<Draft>(() => ({ ...uncheckedSettled, faults }), [uncheckedSettled, faults]);

  const asked = useLocation({ select: ({ search }) => (search as Readonly<{ view?: string }>).view });
  const shownViews = views.filter(({ isFor }) => isFor?.(kind, canWrite) ?? true);
  const view = shownViews.find((one) => one.id === asked) ?? shownViews[0]!;
  const hasPreview = view.hasPreview === true || view.hasPreview === kind;
  const path = templatePath(kind, id);
  const [jump, setJump] = useState<Jump>();
  const jumpTo = useCallback(
    (to: string): void => {
      setJump({ path: to });
      if (view.id !== 'json') go(path, { view: 'json' }, true);
    },
    [go, path, view.id],
  );
  const typed = useRef<string | undefined>(undefined);
  useKeys(draft);

  const locales = useMemo(() => localesOf(content), [content]);
  const formats = useMemo(() => formatsOf(content), [content]);
  const side = (
    <SettledPreview
      kind={kind}
      previewed={previewed}
      canWrite={canWrite}
      settings={settings}
      onSettings={setSettings}
      locales={locales}
      formats={formats}
      selected={draft.selected}
      onSelect={draft.select}
    />
  );
  const isPreview = isPhone && asked === 'preview';
  return (
    <article className={styles['page']}>
      <PageHead
        title={String(unchecked.content['name'] ?? '')}
        back={{ href: wordsOf[kind].path, name: wordsOf[kind].many }}
        badge={<StatusBadge status={stateOf(draft.stored)} />}
      >
        <SettledActs draft={settled} faults={faults} />
      </PageHead>
      <Refused draft={draft} {...meanwhile} />
      {isBack && kept !== undefined && draft.isChanged ? (
        <Back
          at={kept.at}
          onClose={() => setIsBack(false)}
          onDiscard={() => {
            draft.change(contentOf(kind, draft.stored), { label: 'Discard the changes' });
            setIsBack(false);
          }}
        />
      ) : null}
      <nav className={styles['views']} aria-label="Views of the template">
        {[...shownViews, ...(isPhone ? [{ id: 'preview', title: 'Preview' }] : [])].map((one) => (
          <Link
            key={one.id}
            href={`${path}?view=${one.id}`}
            className={cx(styles['view'])}
            {...((isPreview ? one.id === 'preview' : one.id === view.id) ? { 'aria-current': 'page' as const } : {})}
          >
            {one.title}
          </Link>
        ))}
      </nav>
      <div className={cx(styles['columns'], hasPreview && !isPhone && styles['two'])}>
        {isPreview ? (
          side
        ) : (
          <div className={styles['main']}>
            <Suspense fallback={<Loading label={`Loading ${view.title}`} />}>
              <view.Show
                draft={draft}
                settled={settled}
                previewed={previewed}
                settings={settings}
                onSettings={setSettings}
                jump={jump}
                jumpTo={jumpTo}
                onShownAs={onShownAs}
                typed={typed}
              />
            </Suspense>
            <SettledFaults faults={faults} previewed={previewed} onJump={jumpTo} />
          </div>
        )}
        {hasPreview && !isPhone ? <div className={styles['side']}>{side}</div> : null}
      </div>
    </article>
  );
};

/** In: a value. Out: the one of before as long as it says the same, so that what shows it is not drawn again. */
const useSame = <Value,>(value: Value): Value => {
  const before = useRef(value);
  if (!isEqual(before.current, value)) before.current = value;
  return before.current;
};

/** These stand around the views, and are drawn at pauses of typing. */
const SettledActs = memo(Acts);
const SettledFaults = memo(Faults);
const SettledPreview = memo(Preview);

/** Ctrl+S saves. Undo and redo of fields and of the JSON view are their own. */
const useKeys = (draft: Draft): void => {
  const now = useRef(draft);
  now.current = draft;
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
      const { canWrite, isChanged, isSaving, save, undo, redo } = now.current;
      const key = event.key.toLowerCase();
      if (key === 's') {
        event.preventDefault();
        // A refusal is shown at the head.
        if (canWrite && isChanged && !isSaving) void save().catch(() => undefined);
        return;
      }
      const isTyping = event.target instanceof Element && event.target.closest('input, textarea, [contenteditable]');
      if (isTyping) return;
      const act = key === 'y' || (key === 'z' && event.shiftKey) ? redo : key === 'z' ? undo : undefined;
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  }, []);
};
