/**
 * The preview of a mail as a canvas: a click selects a component, a frame shows which one, and what is dropped between
 * two components moves there. All of it lies above the mail, which takes no part in it.
 */
import {
  type DragEvent,
  type MouseEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { useDrop } from 'react-aria-components';
import { Button, Notice, Spinner } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { Fault, Loading, State } from '../../ui/states';
import { hasRemotePictures, MailFrame, type Scheme } from '../frame';
import { Choice } from '../preview';
import type { Previewed } from '../previewing';
import styles from './design.module.css';
import { labelOf, mayMove, type Outline, type Place, subjectOf, type TreeNode, wordsOf } from './model';

type Rect = Readonly<{ left: number; top: number; width: number; height: number }>;

const decoded = (id: string): string => {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
};

/** Keys of the nodes that an element stands for, the innermost last. Of a block, its include is the innermost. */
const keysOf = (element: Element, outline: Outline): readonly string[] => {
  const section = element.getAttribute('data-section');
  const ids = (section ?? element.getAttribute('data-component') ?? '').split(' ').map(decoded);
  const keys: string[] = [];
  for (const id of ids) {
    const node = outline.byKey.get(id);
    if (node === undefined) continue;
    keys.push(node.key);
    if (node.type === 'include') break;
  }
  return keys;
};

const MARKED = '[data-component], [data-section]';

/** The innermost node around an element of the mail. */
const nodeAround = (element: Element | null, outline: Outline): TreeNode | undefined => {
  for (let at = element?.closest(MARKED) ?? null; at !== null; at = at.parentElement?.closest(MARKED) ?? null) {
    const key = keysOf(at, outline).at(-1);
    const node = key === undefined ? undefined : outline.byKey.get(key);
    // An include stands for all components of its block.
    if (node !== undefined) return includeAround(at, outline) ?? node;
  }
  return undefined;
};

const includeAround = (element: Element, outline: Outline): TreeNode | undefined => {
  let found: TreeNode | undefined;
  for (let at: Element | null = element; at !== null; at = at.parentElement?.closest(MARKED) ?? null)
    for (const key of keysOf(at, outline)) {
      const node = outline.byKey.get(key);
      if (node?.type === 'include') found = node;
    }
  return found;
};

/** Loops, conditions and branches have no element: they are where their components are. */
const HAS_PARTS: ReadonlySet<string> = new Set(['loop', 'conditional', 'include', 'then', 'else']);

const rectOf = (element: Element): Rect => {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { left, top, width, height };
};

const around = (rects: readonly Rect[]): Rect => {
  const left = Math.min(...rects.map((rect) => rect.left));
  const top = Math.min(...rects.map((rect) => rect.top));
  const right = Math.max(...rects.map((rect) => rect.left + rect.width));
  const bottom = Math.max(...rects.map((rect) => rect.top + rect.height));
  return { left, top, width: right - left, height: bottom - top };
};

/** The places in which a node is shown: one for each item of a loop around it. */
const rectsOf = (page: Document, node: TreeNode, outline: Outline): readonly Rect[] => {
  const inner = node.kind === 'branch' ? node.children.flatMap((child) => rectsOf(page, child, outline)) : undefined;
  const own =
    inner ??
    [...page.querySelectorAll(MARKED)]
      .filter((element) => {
        const keys = keysOf(element, outline);
        return HAS_PARTS.has(node.type) ? keys.includes(node.key) : keys.at(-1) === node.key;
      })
      .map(rectOf);
  const seen = own.filter(({ width, height }) => width > 0 && height > 0);
  return HAS_PARTS.has(node.type) && seen.length > 0 ? [around(seen)] : seen;
};

type Drop = Readonly<{ place: Place; rect: Rect; side: 'above' | 'below' | 'before' | 'behind' | 'inside' }>;

/** The place in which something is dropped at a point, and the line that shows it. */
const dropAt = (page: Document, outline: Outline, dragged: string, x: number, y: number): Drop | undefined => {
  for (let node = nodeAround(page.elementFromPoint(x, y), outline); node !== undefined; node = node.parent) {
    if (node.kind === 'branch') continue;
    const rects = rectsOf(page, node, outline);
    const rect =
      rects.find((one) => x >= one.left && x <= one.left + one.width && y >= one.top && y <= one.top + one.height) ??
      rects[0];
    if (rect === undefined) continue;
    const isColumn = node.parent?.type === 'columns';
    const share = isColumn ? (x - rect.left) / rect.width : (y - rect.top) / rect.height;
    const isEmpty = node.children.length === 0;
    const inside = node.list !== undefined && mayMove(outline, dragged, node.key);
    if (inside && (isEmpty || node.kind === 'section' || (share > 0.25 && share < 0.75)))
      return { place: { parent: node.key, index: share < 0.5 ? 0 : Infinity }, rect, side: 'inside' };
    if (mayMove(outline, dragged, node.parent?.key)) {
      const isAfter = share > 0.5;
      const side = isColumn ? (isAfter ? 'behind' : 'before') : isAfter ? 'below' : 'above';
      return { place: { parent: node.parent?.key, index: node.index + (isAfter ? 1 : 0) }, rect, side };
    }
  }
  return undefined;
};

const LINE_PX = 3;

const lineOf = ({ rect, side }: Drop): Rect => {
  const { left, top, width, height } = rect;
  switch (side) {
    case 'above':
      return { left, top: top - LINE_PX / 2, width, height: LINE_PX };
    case 'below':
      return { left, top: top + height - LINE_PX / 2, width, height: LINE_PX };
    case 'before':
      return { left: left - LINE_PX / 2, top, width: LINE_PX, height };
    case 'behind':
      return { left: left + width - LINE_PX / 2, top, width: LINE_PX, height };
    case 'inside':
      return rect;
  }
};

const WIDTHS = { desktop: 664, phone: 390 } as const;
const LEAST_PX = 240;

type CanvasProps = Readonly<{
  previewed: Previewed;
  outline: Outline;
  chosen: TreeNode | undefined;
  onChoose: (key: string | undefined) => void;
  canWrite: boolean;
  /** The key of what is dragged, here or in the tree. */
  dragged: string | undefined;
  /** False while something is dragged by keys, which drop in the tree. */
  isTakingDrops: boolean;
  onDrag: (key: string | undefined) => void;
  onMove: (key: string, place: Place) => void;
  /** Gets the chosen node where the mail does not show it. */
  onHidden: (node: TreeNode) => void;
  /** Further tools. */
  tools: ReactNode;
}>;

export const Canvas = (props: CanvasProps) => {
  const { shown, fault } = props.previewed;
  if (shown === undefined)
    return fault === undefined ? <Loading label="Making the preview" /> : <Fault fault={fault} />;
  if (shown.html === null || shown.html === undefined)
    return (
      <State title="Nothing can be shown yet">
        <p>The faults of the template say what is missing.</p>
      </State>
    );
  return <Mail {...props} html={shown.html} subject={shown.subject ?? ''} />;
};

const Mail = ({
  previewed,
  html,
  subject,
  outline,
  chosen,
  onChoose,
  canWrite,
  dragged,
  isTakingDrops,
  onDrag,
  onMove,
  onHidden,
  tools,
}: CanvasProps & Readonly<{ html: string; subject: string }>) => {
  const [look, setLook] = useState<'desktop' | 'phone'>('desktop');
  const [scheme, setScheme] = useState<Scheme>('light');
  const [pictures, setPictures] = useState(false);
  const [page, setPage] = useState<Document>();
  /** Counts the times that the mail was laid out anew. */
  const [laid, setLaid] = useState(0);
  const [height, setHeight] = useState(LEAST_PX);
  const [room, setRoom] = useState<number>(WIDTHS.desktop);
  const [hovered, setHovered] = useState<string>();
  const [drop, setDrop] = useState<Drop>();
  const ground = useRef<HTMLDivElement>(null);
  const stage = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const box = ground.current;
    if (box === null) return;
    const observer = new ResizeObserver(() => setRoom(box.clientWidth));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  const width = look === 'phone' ? Math.min(WIDTHS.phone, room) : Math.max(WIDTHS.desktop, room);
  const scale = Math.min(1, room / width);

  const measure = useCallback((shown: Document): void => {
    setHeight(Math.max(LEAST_PX, Math.ceil(shown.body.getBoundingClientRect().height)));
    setLaid((count) => count + 1);
  }, []);
  const observed = useRef<ResizeObserver>(undefined);
  const onShown = useCallback(
    (shown: Document): void => {
      observed.current?.disconnect();
      observed.current = new ResizeObserver(() => measure(shown));
      observed.current.observe(shown.body);
      setPage(shown);
      measure(shown);
    },
    [measure],
  );
  useEffect(() => () => observed.current?.disconnect(), []);

  const inFrame = ({ clientX, clientY }: MouseEvent): Readonly<{ x: number; y: number }> => {
    const box = stage.current?.getBoundingClientRect();
    return { x: (clientX - (box?.left ?? 0)) / scale, y: (clientY - (box?.top ?? 0)) / scale };
  };
  const nodeUnder = (event: MouseEvent): TreeNode | undefined => {
    const { x, y } = inFrame(event);
    return page === undefined ? undefined : nodeAround(page.elementFromPoint(x, y), outline);
  };

  /** Frames are measured when the mail, the tree or what is chosen changes. */
  const [frames, setFrames] = useState<Readonly<{ chosen: readonly Rect[]; hovered: readonly Rect[] }>>(NO_FRAMES);
  const chosenKey = chosen?.key;
  useLayoutEffect(() => {
    if (page === undefined) return;
    const of = (key: string | undefined): readonly Rect[] => {
      const node = key === undefined ? undefined : outline.byKey.get(key);
      return node === undefined ? [] : rectsOf(page, node, outline);
    };
    setFrames({ chosen: of(chosenKey), hovered: hovered === chosenKey ? [] : of(hovered) });
  }, [page, laid, outline, chosenKey, hovered]);

  const hidden = useRef(onHidden);
  hidden.current = onHidden;
  const { isLate } = previewed;
  useEffect(() => {
    if (page === undefined || isLate || chosenKey === undefined) return;
    const node = outline.byKey.get(chosenKey);
    if (node !== undefined && rectsOf(page, node, outline).length === 0) hidden.current(node);
  }, [page, laid, isLate, chosenKey, outline]);

  /** The frame of another node is brought into sight once; later the reader scrolls. */
  const sought = useRef<string>(undefined);
  const [first] = frames.chosen;
  useEffect(() => {
    const box = ground.current;
    if (box === null || first === undefined || sought.current === chosenKey) return;
    sought.current = chosenKey;
    const top = first.top * scale;
    const bottom = top + first.height * scale;
    if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight)
      box.scrollTo({ top: Math.max(0, top - box.clientHeight / 3) });
  }, [first, chosenKey, scale]);

  const overlay = useRef<HTMLDivElement>(null);
  const dropUnder = ({ x, y }: Readonly<{ x: number; y: number }>): Drop | undefined =>
    dragged === undefined || page === undefined ? undefined : dropAt(page, outline, dragged, x / scale, y / scale);
  const { dropProps } = useDrop({
    ref: overlay,
    isDisabled: !canWrite || !isTakingDrops,
    getDropOperation: () => (dragged === undefined ? 'cancel' : 'move'),
    onDropEnter: (at) => setDrop(dropUnder(at)),
    onDropMove: (at) => setDrop(dropUnder(at)),
    onDropExit: () => setDrop(undefined),
    onDrop: (at) => {
      const found = dropUnder(at);
      setDrop(undefined);
      if (dragged !== undefined && found !== undefined) onMove(dragged, found.place);
      onDrag(undefined);
    },
  });
  const overlayEvents = {
    onMouseMove: (event: MouseEvent) => {
      const key = nodeUnder(event)?.key;
      if (key !== hovered) setHovered(key);
    },
    onMouseLeave: () => setHovered(undefined),
    onClick: (event: MouseEvent) => onChoose(nodeUnder(event)?.key),
    onDragStart: (event: DragEvent) => {
      const node = nodeUnder(event);
      if (node === undefined || !canWrite) return event.preventDefault();
      const name = labelOf(node);
      event.dataTransfer.setData('text/plain', name);
      event.dataTransfer.effectAllowed = 'move';
      const chip = document.createElement('div');
      chip.className = styles['chip'] ?? '';
      chip.textContent = name;
      document.body.append(chip);
      event.dataTransfer.setDragImage(chip, 8, 8);
      setTimeout(() => chip.remove());
      onDrag(node.key);
    },
    onDragEnd: () => {
      setDrop(undefined);
      onDrag(undefined);
    },
  };
  const scaled = ({ left, top, width: wide, height: high }: Rect) => ({
    left: left * scale,
    top: top * scale,
    width: wide * scale,
    height: high * scale,
  });
  return (
    <>
      <div className={styles['tools']}>
        <Choice label="Width" value={look} options={{ desktop: 'Desktop', phone: 'Phone' }} onChange={setLook} />
        <Choice label="Colours" value={scheme} options={{ light: 'Light', dark: 'Dark' }} onChange={setScheme} />
        {hasRemotePictures(html) ? (
          <Button isSmall onPress={() => setPictures(!pictures)}>
            {pictures ? 'Hide remote pictures' : 'Load remote pictures'}
          </Button>
        ) : null}
        {tools}
        {isLate ? <Spinner label="Making the preview" /> : null}
      </div>
      {previewed.fault === undefined ? null : (
        <Notice kind="fault">The preview is of before: {previewed.fault.message}</Notice>
      )}
      <div ref={ground} className={styles['ground']} tabIndex={0} role="region" aria-label="The mail">
        <div ref={stage} className={styles['stage']} style={{ width: width * scale, height: height * scale }}>
          <div className={styles['scaled']} style={{ width, height, transform: `scale(${scale})` }}>
            <MailFrame
              title={`Preview: ${subject}`}
              html={html}
              scheme={scheme}
              pictures={pictures}
              className={cx(styles['frame'], scheme === 'dark' && styles['dark'])}
              onShown={onShown}
            />
          </div>
          {frames.hovered.map((rect, at) => (
            <div key={`h${at}`} className={styles['hovered']} style={scaled(rect)} />
          ))}
          {frames.chosen.map((rect, at) => (
            <div key={`c${at}`} className={styles['chosen']} style={scaled(rect)}>
              {at === 0 && chosen !== undefined ? (
                <span className={cx(styles['label'], rect.top * scale < 22 && styles['within'])}>
                  {wordsOf(subjectOf(chosen)).name}
                </span>
              ) : null}
            </div>
          ))}
          {drop === undefined ? null : (
            <div
              className={cx(styles['drop'], drop.side === 'inside' && styles['into'])}
              style={scaled(lineOf(drop))}
            />
          )}
          {/* The tree does the same by keys. */}
          <div ref={overlay} className={styles['overlay']} draggable={canWrite} {...dropProps} {...overlayEvents} />
        </div>
      </div>
    </>
  );
};

const NO_FRAMES = { chosen: [], hovered: [] } as const;
