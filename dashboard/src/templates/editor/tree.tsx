/** The structure of a template as a tree: chosen, moved and changed by mouse, touch, keys and screen reader. */
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import {
  Button as AriaButton,
  Collection,
  DropIndicator,
  type DropTarget,
  type ItemDropTarget,
  type Key,
  ListLayout,
  Tree,
  TreeItem,
  TreeItemContent,
  type TreeItemContentRenderProps,
  useDragAndDrop,
  Virtualizer,
} from 'react-aria-components';
import { cx } from '../../ui/cx';
import { ChevronIcon } from '../../ui/icons';
import type { ContentFault } from '../draft';
import type { TreeActs } from './acts';
import styles from './design.module.css';
import { ComponentIcon, HandleIcon } from './icons';
import { mayMove, nodeAt, type Outline, type Place, type TreeNode, wordsOf } from './model';

type TreeState = TreeItemContentRenderProps['state'];

/** The media type of what is dragged, beside its name as text. */
export const DRAGGED = 'application/x-sealpost-component';

/** The words of a row. A row that shows the same as before is the same object, so that the tree draws others alone. */
type Row = Readonly<{
  key: string;
  kind: TreeNode['kind'];
  type: string;
  name: string;
  gist: string;
  faults: number;
  children: readonly Row[];
}>;

const isSame = (one: Row, other: Row): boolean =>
  one.kind === other.kind &&
  one.type === other.type &&
  one.name === other.name &&
  one.gist === other.gist &&
  one.faults === other.faults &&
  one.children.length === other.children.length &&
  one.children.every((child, at) => child === other.children[at]);

const rowsOf = (
  nodes: readonly TreeNode[],
  faults: ReadonlyMap<string, number>,
  before: ReadonlyMap<string, Row>,
  now: Map<string, Row>,
): readonly Row[] =>
  nodes.map((node) => {
    const { key, kind, type } = node;
    const children = rowsOf(node.children, faults, before, now);
    const made: Row = { key, kind, type, ...wordsOf(node), faults: faults.get(key) ?? 0, children };
    const known = before.get(key);
    const row = known !== undefined && isSame(known, made) ? known : made;
    now.set(key, row);
    return row;
  });

const faultsByKey = (outline: Outline, faults: readonly ContentFault[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const { path } of faults) {
    const key = nodeAt(outline, path)?.key;
    if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
};

const useRows = (outline: Outline, faults: readonly ContentFault[]): readonly Row[] => {
  const before = useRef<ReadonlyMap<string, Row>>(new Map());
  return useMemo(() => {
    const now = new Map<string, Row>();
    const rows = rowsOf(outline.roots, faultsByKey(outline, faults), before.current, now);
    before.current = now;
    return rows;
  }, [outline, faults]);
};

/** The place that a target of the tree means. */
const placeOf = (outline: Outline, { key, dropPosition }: ItemDropTarget): Place | undefined => {
  const node = outline.byKey.get(String(key));
  if (node === undefined) return undefined;
  if (dropPosition === 'on') return node.list === undefined ? undefined : { parent: node.key, index: Infinity };
  if (node.kind === 'branch') return undefined;
  return { parent: node.parent?.key, index: node.index + (dropPosition === 'after' ? 1 : 0) };
};

const ROW_PX = 30;
const AFTER_DIALOG_MS = 80;

const focusRow = (tree: HTMLElement, key: string): void =>
  tree.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });

/** Whether all rows around the row are open. */
const isVisible = ({ collection, expandedKeys }: TreeState, key: Key): boolean => {
  const parent = collection.getItem(key)?.parentKey;
  return (
    parent === null ||
    parent === undefined ||
    (expandedKeys.has(parent) && isVisible({ collection, expandedKeys } as TreeState, parent))
  );
};

type StructureProps = Readonly<{
  outline: Outline;
  faults: readonly ContentFault[];
  acts: TreeActs;
  canWrite: boolean;
  /** Gets what is dragged, so that the canvas takes it, too. */
  onDrag: (key: string | undefined, byPointer: boolean) => void;
  /** Another number: the keys go on at the chosen row, as after a dialog. */
  focusAgain: number;
  onAdd: () => void;
  onRename: () => void;
}>;

export const Structure = ({ outline, faults, acts, canWrite, onDrag, focusAgain, onAdd, onRename }: StructureProps) => {
  const rows = useRows(outline, faults);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const expanded = useMemo(
    () =>
      [...outline.byKey.values()]
        .filter(({ key, children }) => children.length > 0 && !closed.has(key))
        .map(({ key }) => key),
    [outline, closed],
  );
  const dragged = useRef<string>(undefined);
  const byPointer = useRef(true);
  const { chosen } = acts;
  const box = useRef<HTMLDivElement>(null);
  const state = useRef<TreeState>(undefined);
  const isActing = useRef(false);
  const chosenKey = chosen?.key;
  useEffect(() => {
    const tree = box.current?.querySelector<HTMLElement>('[role=treegrid]');
    const now = state.current;
    if (tree === null || tree === undefined || now === undefined || chosenKey === undefined) return;
    now.selectionManager.setFocusedKey(chosenKey);
    const top = [...now.collection.getKeys()].filter((key) => isVisible(now, key)).indexOf(chosenKey) * ROW_PX;
    if (top >= 0 && (top < tree.scrollTop || top + ROW_PX > tree.scrollTop + tree.clientHeight))
      tree.scrollTo({ top: Math.max(0, top - tree.clientHeight / 3) });
    // After an act by keys, the keys go on at the row that the act left chosen, once it is in the page.
    if (!isActing.current) return;
    isActing.current = false;
    requestAnimationFrame(() => focusRow(tree, chosenKey));
  }, [chosenKey, rows]);
  const newestKey = useRef(chosenKey);
  newestKey.current = chosenKey;
  useEffect(() => {
    if (focusAgain === 0) return;
    // The dialog gives the focus back to where it was before, in the next frame.
    const timer = setTimeout(() => {
      const tree = box.current?.querySelector<HTMLElement>('[role=treegrid]');
      if (tree !== null && tree !== undefined && newestKey.current !== undefined) focusRow(tree, newestKey.current);
    }, AFTER_DIALOG_MS);
    return () => clearTimeout(timer);
  }, [focusAgain]);
  const { dragAndDropHooks } = useDragAndDrop<Row>({
    isDisabled: !canWrite,
    getItems: (keys, items) =>
      [...keys].map((key, at) => ({ [DRAGGED]: String(key), 'text/plain': items[at]?.name ?? String(key) })),
    getAllowedDropOperations: () => ['move'],
    getDropOperation: (target: DropTarget) => {
      if (target.type !== 'item' || dragged.current === undefined) return 'cancel';
      const place = placeOf(outline, target);
      return place !== undefined && mayMove(outline, dragged.current, place.parent) ? 'move' : 'cancel';
    },
    onDragStart: ({ keys }) => {
      const [key] = keys;
      dragged.current =
        key === undefined || outline.byKey.get(String(key))?.kind === 'branch' ? undefined : String(key);
      onDrag(dragged.current, byPointer.current);
    },
    onDragEnd: () => {
      dragged.current = undefined;
      onDrag(undefined, true);
    },
    onMove: ({ keys, target }) => {
      const [key] = keys;
      const place = placeOf(acts.outline(), target);
      if (key !== undefined && place !== undefined) acts.move(String(key), place);
    },
    renderDropIndicator: (target) => <DropIndicator target={target} className={cx(styles['indicator'])} />,
  });

  /** Letters find rows by their names; acts have keys of their own. */
  const pressed = (event: KeyboardEvent): void => {
    byPointer.current = false;
    if (event.key === 'Escape' && dragged.current === undefined && chosen !== undefined) {
      event.stopPropagation();
      return acts.choose(undefined);
    }
    const act = keyAct(event);
    if (act === undefined || chosen === undefined || !canWrite) return;
    const isDragging = dragged.current !== undefined;
    if (isDragging || !(event.target instanceof Element) || event.target.closest('[role=treegrid]') === null) return;
    event.preventDefault();
    event.stopPropagation();
    isActing.current = act !== 'add' && act !== 'rename';
    if (act === 'add') onAdd();
    else if (act === 'rename') onRename();
    else if (act === 'remove' || act === 'duplicate') acts[act](chosen.key);
    else acts.moveBy(chosen.key, act);
  };

  const row = (item: Row): ReactNode => (
    <TreeItem
      id={item.key}
      textValue={[item.name, item.gist].filter((word) => word !== '').join(': ')}
      className={cx(styles['row'], styles[item.kind])}
    >
      <TreeItemContent>
        {({ hasChildItems, isExpanded, state: now }) => (
          <div className={styles['cells']} ref={() => void (state.current = now)}>
            {hasChildItems ? (
              <AriaButton slot="chevron" className={cx(styles['chevron'])} aria-label={isExpanded ? 'Close' : 'Open'}>
                <ChevronIcon size={12} />
              </AriaButton>
            ) : (
              <span className={styles['chevron']} />
            )}
            <ComponentIcon kind={item.kind} type={item.type} />
            <span className={styles['name']}>
              <bdi>{item.name}</bdi>
              {item.gist === '' ? null : (
                <span className={styles['gist']}>
                  {' '}
                  <bdi>{item.gist}</bdi>
                </span>
              )}
            </span>
            {item.faults === 0 ? null : (
              <span
                className={styles['faults']}
                role="img"
                aria-label={item.faults === 1 ? '1 fault' : `${item.faults} faults`}
              >
                {item.faults}
              </span>
            )}
            {canWrite ? (
              <AriaButton
                slot="drag"
                isDisabled={item.kind === 'branch'}
                className={cx(styles['handle'], item.kind === 'branch' && styles['unseen'])}
              >
                <HandleIcon size={14} />
              </AriaButton>
            ) : null}
          </div>
        )}
      </TreeItemContent>
      <Collection items={item.children}>{row}</Collection>
    </TreeItem>
  );

  return (
    <div
      ref={box}
      className={styles['treeBox']}
      onKeyDownCapture={pressed}
      onPointerDownCapture={() => {
        byPointer.current = true;
      }}
    >
      <Virtualizer layout={ListLayout} layoutOptions={{ rowSize: ROW_PX }}>
        <Tree
          aria-label="Structure"
          className={cx(styles['tree'])}
          items={rows}
          selectionMode="single"
          selectionBehavior="replace"
          disallowEmptySelection
          selectedKeys={chosen === undefined ? [] : [chosen.key]}
          onSelectionChange={(keys) => {
            if (keys !== 'all') acts.choose([...keys].map(String)[0]);
          }}
          expandedKeys={expanded}
          onExpandedChange={(keys) =>
            setClosed(
              new Set(
                [...outline.byKey.values()]
                  .filter(({ key, children }) => children.length > 0 && !keys.has(key))
                  .map(({ key }) => key),
              ),
            )
          }
          dragAndDropHooks={dragAndDropHooks}
          renderEmptyState={() => <p className={styles['empty']}>Nothing stands here yet. Add the first component.</p>}
        >
          {row}
        </Tree>
      </Virtualizer>
    </div>
  );
};

type KeyAct = 'add' | 'rename' | 'remove' | 'duplicate' | 'up' | 'down' | 'in' | 'out';

const altKeys: Readonly<Record<string, KeyAct>> = {
  ArrowUp: 'up',
  ArrowDown: 'down',
  ArrowRight: 'in',
  ArrowLeft: 'out',
};
const plainKeys: Readonly<Record<string, KeyAct>> = {
  Delete: 'remove',
  Backspace: 'remove',
  F2: 'rename',
  Insert: 'add',
};

const keyAct = ({ key, altKey, ctrlKey, metaKey, shiftKey }: KeyboardEvent): KeyAct | undefined => {
  if (shiftKey) return undefined;
  if (altKey) return ctrlKey || metaKey ? undefined : altKeys[key];
  if (ctrlKey || metaKey) return key.toLowerCase() === 'd' ? 'duplicate' : undefined;
  return plainKeys[key];
};

/** The keys, for those who look for them. */
export const keysOfTree: readonly (readonly [keys: string, act: string])[] = [
  ['↑ ↓', 'choose the one before or after'],
  ['← →', 'close and open'],
  ['Alt + ↑ ↓', 'move before or after its neighbour'],
  ['Alt + →', 'move into the one before it'],
  ['Alt + ←', 'move out, behind what it stands in'],
  ['Insert', 'add'],
  ['Ctrl + D', 'duplicate'],
  ['Delete', 'delete'],
  ['F2', 'rename'],
  ['Ctrl + Z', 'undo'],
  ['Escape', 'choose the whole'],
];
