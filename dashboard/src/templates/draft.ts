/**
 * A template while it is written: its content, acts that can be undone, faults, sample data, and how it is saved. All
 * views of a template read and change it through this.
 */
import { startTransition, useCallback, useEffect, useMemo, useReducer, useRef, useState } from 'react';
import { ApiFault } from '../api/client';
import { bodyOfChange, type Content, contentOf, isEqual, type Kind, type Stored } from './content';
import { type Act as ContentAct, begin, done, type History, labelsOf, redone, undone } from './editor/history';
import { apiOf } from './kinds';

export type { Content } from './content';
export type { ContentAct };

/** `path`: such as sections[0].components[2].props.text; `id`: the component that it lies in, where it has one. */
export type ContentFault = Readonly<{ path: string; message: string; code?: string; id?: string }>;

export type SampleData = Readonly<Record<string, unknown>>;

export type Draft = Readonly<{
  kind: Kind;
  /** As the service has it, with its revision. */
  stored: Stored;
  /** The content that was loaded or saved last: the acts since then are not saved. */
  base: Content;
  /** The newest valid JSON. */
  content: Content;
  /** The newest content at the time of the call, for acts of views that follow at pauses. */
  newest: () => Content;
  /** One act of the person. */
  change: (next: Content, act: ContentAct) => void;
  undo: (() => void) | undefined;
  redo: (() => void) | undefined;
  /** Id of the selected component. */
  selected: string | undefined;
  select: (id: string | undefined) => void;
  faults: readonly ContentFault[];
  /** Sample data of the preview. */
  variables: SampleData;
  setVariables: (next: SampleData) => void;
  isChanged: boolean;
  isSaving: boolean;
  /** Saves with the revision that the content began with. Rejects as `refused` says. */
  save: () => Promise<Stored>;
  /** Why the last save was refused; `REVISION_MISMATCH`: somebody else has saved meanwhile. */
  refused: ApiFault | undefined;
  /** Goes on from what the service has by now; the next save replaces that. The content stays. */
  rebase: (stored: Stored) => void;
  /** Notes what the service has after an act that does not change the content, such as a publish. */
  settle: (stored: Stored) => void;
  /** Shows what the service has in the place of the content, as an act that can be undone. */
  take: (stored: Stored, act: ContentAct) => void;
  canWrite: boolean;
}>;

type HistoryAct =
  Readonly<{ kind: 'change'; next: Content; act: ContentAct; at: number }> | Readonly<{ kind: 'undo' | 'redo' }>;

const step = (history: History<Content>, what: HistoryAct): History<Content> => {
  if (what.kind === 'change')
    return isEqual(what.next, history.present) ? history : done(history, what.next, what.act, what.at);
  return (what.kind === 'undo' ? undone(history) : redone(history)) ?? history;
};

type DraftOptions = Readonly<{
  kind: Kind;
  teamId: string;
  stored: Stored;
  canWrite: boolean;
  variables: SampleData;
  setVariables: (next: SampleData) => void;
  /** Changes of an earlier visit to `stored`; the first act of this one. */
  kept: Content | undefined;
  /** Gets what the service answered to a save. */
  onSaved: (stored: Stored) => void;
}>;

/** Views that show the whole content follow when nothing was typed for this long. */
const SETTLED_AFTER_MS = 250;

/** In: the newest content, and whether the last act was typing. Out: the content as of the last pause of typing. */
const useSettled = (content: Content, isTyping: boolean): Content => {
  const [settled, setSettled] = useState(content);
  useEffect(() => {
    if (!isTyping) {
      setSettled(content);
      return;
    }
    const timer = setTimeout(() => startTransition(() => setSettled(content)), SETTLED_AFTER_MS);
    return () => clearTimeout(timer);
  }, [content, isTyping]);
  return isTyping ? settled : content;
};

type Unchecked = Omit<Draft, 'faults'>;

/**
 * A draft of the page without `faults`, which its preview finds. `settled`: the same with the content of the last pause
 * of typing; it is the same object until then, so that a letter does not draw what shows the whole template.
 */
export const useDraft = (options: DraftOptions): Readonly<{ draft: Unchecked; settled: Unchecked }> => {
  const { kind, teamId, canWrite, variables, setVariables, onSaved } = options;
  const [stored, setStored] = useState(options.stored);
  // The service writes some of a content otherwise, such as addresses, and adds ids of variables.
  const [base, setBase] = useState(() => contentOf(kind, options.stored));
  const [history, act] = useReducer(step, options, ({ stored: first, kept }) => {
    const history = begin(contentOf(kind, first));
    return kept === undefined ? history : done(history, kept, { label: 'Changes of before' }, 0);
  });
  const [selected, select] = useState<string>();
  const [isSaving, setIsSaving] = useState(false);
  const [refused, setRefused] = useState<ApiFault>();
  const { present: content } = history;
  const labels = labelsOf(history);

  const settledContent = useSettled(content, history.open !== undefined);
  const now = useRef({ content, base, stored });
  now.current = { content, base, stored };
  const newest = useCallback(() => now.current.content, []);
  const undo = useCallback(() => act({ kind: 'undo' }), []);
  const redo = useCallback(() => act({ kind: 'redo' }), []);

  const change = useCallback<Draft['change']>((next, why) => {
    act({ kind: 'change', next, act: why, at: performance.now() });
  }, []);
  const take = useCallback<Draft['take']>(
    (from, why) => {
      setStored(from);
      setBase(contentOf(kind, from));
      setRefused(undefined);
      change(contentOf(kind, from), why);
    },
    [change, kind],
  );
  const rebase = useCallback<Draft['rebase']>(
    (from) => {
      setStored(from);
      setBase(contentOf(kind, from));
      setRefused(undefined);
    },
    [kind],
  );
  const save = useCallback(async (): Promise<Stored> => {
    setIsSaving(true);
    setRefused(undefined);
    try {
      const { content, base, stored } = now.current;
      const body = bodyOfChange(kind, content, base);
      const saved =
        body === undefined ? stored : await apiOf[kind].update(stored.id, body, { teamId, ifMatch: stored.revision });
      setStored(saved);
      setBase(content);
      onSaved(saved);
      return saved;
    } catch (fault) {
      if (fault instanceof ApiFault) setRefused(fault);
      throw fault;
    } finally {
      setIsSaving(false);
    }
  }, [kind, teamId, onSaved]);
  const isChanged = useMemo(() => bodyOfChange(kind, content, base) !== undefined, [kind, content, base]);
  const canUndo = labels.undo !== undefined;
  const canRedo = labels.redo !== undefined;
  const settled = useMemo<Unchecked>(
    () => ({
      ...{ kind, stored, base, content: settledContent, newest, change, selected, select, variables, setVariables },
      ...{ isChanged, isSaving, save, refused, rebase, take, settle: setStored, canWrite },
      undo: canUndo ? undo : undefined,
      redo: canRedo ? redo : undefined,
    }),
    [
      ...[kind, stored, base, settledContent, newest, change, selected, variables, setVariables],
      ...[isChanged, isSaving, save, refused, rebase, take, canWrite, canUndo, canRedo, undo, redo],
    ],
  );
  return { draft: { ...settled, content }, settled };
};
