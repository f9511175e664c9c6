/** Acts of a person on the tree, each with the sentence that tells it. */
import { useCallback, useMemo, useRef, useState } from 'react';
import type { Draft } from '../draft';
import {
  duplicate,
  insert,
  labelOf,
  type Made,
  move,
  type Outcome,
  type Outline,
  outlineOf,
  type Place,
  placeBy,
  type Direction,
  remove,
  rename,
  subjectOf,
  type TreeNode,
  unwrap,
  wordsOf,
  wrap,
} from './model';

/** `isRefused`: nothing was done. `canUndo`: the sentence offers to undo the act. */
export type Said = Readonly<{ text: string; isRefused: boolean; canUndo: boolean; at: number }>;

export type TreeActs = Readonly<{
  /** The tree of the newest content. */
  outline: () => Outline;
  chosen: TreeNode | undefined;
  choose: (key: string | undefined) => void;
  insert: (place: Place, made: Made) => void;
  move: (key: string, place: Place) => void;
  moveBy: (key: string, direction: Direction) => void;
  remove: (key: string) => void;
  duplicate: (key: string) => void;
  wrap: (key: string, made: Made) => void;
  unwrap: (key: string) => void;
  rename: (key: string, name: string) => string | undefined;
  said: Said | undefined;
  dismiss: () => void;
}>;

/** In: the outline that is shown, which may be of a moment ago. */
export const useTreeActs = (draft: Draft, shown: Outline): TreeActs => {
  const now = useRef(draft);
  now.current = draft;
  const [said, setSaid] = useState<Said>();
  /** A branch has no form of its own: its conditional is selected, and the tree remembers the branch. */
  const [branch, setBranch] = useState<string>();

  const say = useCallback((text: string, { isRefused = false, canUndo = false } = {}): void => {
    setSaid({ text, isRefused, canUndo, at: performance.now() });
  }, []);
  const outline = useCallback(() => outlineOf(now.current.content, now.current.kind), []);
  const choose = useCallback(
    (key: string | undefined): void => {
      const node = key === undefined ? undefined : outline().byKey.get(key);
      setBranch(node?.kind === 'branch' ? node.key : undefined);
      now.current.select(node === undefined ? undefined : subjectOf(node).key);
    },
    [outline],
  );
  const run = useCallback(
    (act: (outline: Outline) => Outcome, label: string, sentence?: string): Outline | undefined => {
      if (!now.current.canWrite) return undefined;
      const outcome = act(outline());
      if ('refused' in outcome) {
        say(outcome.refused, { isRefused: true });
        return undefined;
      }
      const { content, key, gone } = outcome;
      now.current.change(content, { label });
      setBranch(undefined);
      now.current.select(key);
      const also =
        gone.length === 0 ? '' : ` ${gone.map((name) => `“${name}”`).join(' and ')} would be empty, so it went too.`;
      if (sentence !== undefined || also !== '') say(`${sentence ?? label}.${also}`, { canUndo: true });
      return outlineOf(content, now.current.kind);
    },
    [outline, say],
  );
  const nameOf = useCallback(
    (key: string): string => {
      const node = outline().byKey.get(key);
      return node === undefined ? 'It' : `“${labelOf(node)}”`;
    },
    [outline],
  );
  const acts = useMemo(
    () => ({
      outline,
      choose,
      insert: (place: Place, made: Made) => {
        const type = made.value['type'];
        run((tree) => insert(tree, place, made), `Add ${typeof type === 'string' ? type : 'page'}`);
      },
      move: (key: string, place: Place) => {
        run((tree) => move(tree, key, place), `Move ${nameOf(key)}`);
      },
      moveBy: (key: string, direction: Direction) => {
        const place = placeBy(outline(), key, direction);
        if (place === undefined) return say(`${nameOf(key)} cannot go further ${direction}.`, { isRefused: true });
        const node = run((tree) => move(tree, key, place), `Move ${nameOf(key)}`)?.byKey.get(key);
        if (node?.parent !== undefined) say(`Moved ${direction}: it stands in “${wordsOf(node.parent).name}”.`);
      },
      remove: (key: string) => {
        const name = nameOf(key);
        run((tree) => remove(tree, key), `Delete ${name}`, `${name} is deleted`);
      },
      duplicate: (key: string) => {
        run((tree) => duplicate(tree, key), `Duplicate ${nameOf(key)}`, `A copy of ${nameOf(key)} stands behind it`);
      },
      wrap: (key: string, made: Made) => {
        run((tree) => wrap(tree, key, made), `Wrap ${nameOf(key)}`);
      },
      unwrap: (key: string) => {
        const name = nameOf(key);
        run((tree) => unwrap(tree, key), `Unwrap ${name}`, `${name} is gone, and what was in it stands in its place`);
      },
      /** Out: why it does not get the name. */
      rename: (key: string, name: string): string | undefined => {
        const outcome = rename(outline(), key, name);
        if ('refused' in outcome) return outcome.refused;
        run(() => outcome, `Rename ${nameOf(key)}`);
        return undefined;
      },
      dismiss: () => setSaid(undefined),
    }),
    [outline, choose, run, nameOf, say],
  );
  const key = branch ?? draft.selected;
  const chosen = key === undefined ? undefined : (shown.byKey.get(key) ?? shown.byKey.get(draft.selected ?? ''));
  return useMemo(() => ({ ...acts, chosen, said }), [acts, chosen, said]);
};
