/** The view in which a template is designed: its structure as a tree, and the preview as a canvas beside it. */
import { lazy, memo, type ReactNode, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Button as AriaButton, type ButtonProps } from 'react-aria-components';
import { Dialog } from '../../ui/dialog';
import { Button, Notice, Spinner, TextField } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { CloseIcon, HelpIcon, MoreIcon } from '../../ui/icons';
import { Menu, MenuItem } from '../../ui/menu';
import { useIsPhone } from '../../ui/width';
import type { ViewProps } from '../page';
import { Choice } from '../preview';
import { type TreeActs, useTreeActs } from './acts';
import { Canvas } from './canvas';
import { PropertiesForm } from './forms/form';
import styles from './design.module.css';
import { BinIcon, DownIcon, InIcon, OutIcon, PlusIcon, TwiceIcon, UpIcon } from './icons';
import {
  conditionWords,
  type Direction,
  labelOf,
  mayUnwrap,
  outlineOf,
  placeBy,
  subjectOf,
  trailOf,
  type TreeNode,
  wordsOf,
} from './model';
import { makeComponent } from './palette';
import { shownAs, type Switch, type Switches, switchesFor } from './shown';
import { keysOfTree, Structure } from './tree';

const AddDialog = lazy(() => import('./add'));

type Asked = 'add' | 'rename' | 'keys';

const wholeWords = { email: 'Mail', attachment: 'Document', block: 'Block' } as const;

const NO_SWITCHES: Switches = new Map();

const DesignView = ({ draft, settled, previewed, onShownAs }: ViewProps) => {
  const { kind, canWrite, faults } = draft;
  const isPhone = useIsPhone();
  // Letters reach the tree and the canvas at a pause; other acts at once, with what they choose. The tree shows the
  // schema alone.
  const { content } = settled;
  const { schema } = content;
  const outline = useMemo(() => outlineOf(content, kind), [schema, kind]);
  const acts = useTreeActs(draft, outline);
  const { chosen } = acts;
  const [asked, setAsked] = useState<Asked>();
  const [dragged, setDragged] = useState<string>();
  /** Keys drop in the tree alone. */
  const [byPointer, setByPointer] = useState(true);
  const drag = useCallback((key: string | undefined, pointer = true): void => {
    setDragged(key);
    setByPointer(pointer);
  }, []);
  const [switches, setSwitches] = useState<Switches>(NO_SWITCHES);
  const [closed, setClosed] = useState(0);
  const close = (): void => {
    setAsked(undefined);
    setClosed((count) => count + 1);
  };

  useEffect(() => {
    onShownAs(switches.size === 0 ? undefined : (now, variables) => shownAs(now, kind, variables, switches));
    return () => onShownAs(undefined);
  }, [onShownAs, kind, switches]);

  /** A chosen component that the data hide is shown; it is asked for once. */
  const sought = useRef<string>(undefined);
  const reveal = useCallback((node: TreeNode): void => {
    if (sought.current === node.key) return;
    sought.current = node.key;
    setSwitches((now) => new Map([...now, ...switchesFor(node)]));
  }, []);
  const onAdd = useCallback(() => setAsked('add'), []);
  const onRename = useCallback(() => setAsked('rename'), []);
  const tools = useMemo(
    () => <SwitchOf chosen={chosen} switches={switches} onChange={setSwitches} />,
    [chosen, switches],
  );
  const isWithCanvas = !isPhone && kind !== 'attachment' && (kind !== 'block' || canWrite);

  return (
    <div className={cx(styles['design'], isWithCanvas && styles['withCanvas'])}>
      <section className={styles['structure']} aria-label="Structure of the template">
        {canWrite ? <SettledToolbar acts={acts} onAsk={setAsked} /> : null}
        <SettledStructure
          outline={outline}
          faults={faults}
          acts={acts}
          canWrite={canWrite}
          onDrag={drag}
          focusAgain={closed}
          onAdd={onAdd}
          onRename={onRename}
        />
        <p className={styles['way']}>
          <AriaButton
            className={cx(styles['whole'])}
            {...(chosen === undefined ? { 'aria-current': 'true' as const } : {})}
            onPress={() => acts.choose(undefined)}
          >
            {wholeWords[kind]}
          </AriaButton>
          {chosen === undefined
            ? ''
            : ` › ${[
                ...trailOf(chosen)
                  .slice(0, -1)
                  .map((node) => wordsOf(node).name),
                wordsOf(chosen).name,
              ].join(' › ')}`}
        </p>
      </section>
      {isWithCanvas ? (
        <section className={styles['canvas']} aria-label="Canvas" aria-busy={previewed.isLate}>
          <SettledCanvas
            previewed={previewed}
            outline={outline}
            chosen={chosen}
            onChoose={acts.choose}
            canWrite={canWrite}
            dragged={byPointer ? dragged : undefined}
            isTakingDrops={byPointer}
            onDrag={drag}
            onMove={acts.move}
            onHidden={reveal}
            tools={tools}
          />
        </section>
      ) : null}
      <section className={styles['form']} aria-label="Properties">
        <PropertiesForm draft={draft} />
      </section>
      <SettledToast acts={acts} undo={draft.undo} />
      {asked === 'add' ? (
        <Suspense fallback={<Spinner label="Loading the components" />}>
          <AddDialog outline={outline} chosen={chosen} onAdd={acts.insert} onClose={close} />
        </Suspense>
      ) : asked === 'rename' && chosen !== undefined ? (
        <RenameDialog node={subjectOf(chosen)} acts={acts} onClose={close} />
      ) : asked === 'keys' ? (
        <KeysDialog onClose={close} />
      ) : null}
    </div>
  );
};

export default DesignView;

const steps: readonly (readonly [Direction, string, () => ReactNode])[] = [
  ['up', 'Move up', () => <UpIcon />],
  ['down', 'Move down', () => <DownIcon />],
  ['in', 'Move into the one before', () => <InIcon />],
  ['out', 'Move out', () => <OutIcon />],
];

const IconButton = ({
  label,
  ...props
}: Omit<ButtonProps, 'className' | 'aria-label'> & Readonly<{ label: string }>) => (
  <span title={label}>
    <AriaButton {...props} aria-label={label} className={cx(styles['icon'])} />
  </span>
);

const wrappers = [
  ['conditional', 'Wrap in a condition'],
  ['loop', 'Wrap in a loop'],
  ['container', 'Wrap in a box'],
  ['columns', 'Wrap in columns'],
] as const;

const Toolbar = ({ acts, onAsk }: Readonly<{ acts: TreeActs; onAsk: (asked: Asked) => void }>) => {
  const { chosen } = acts;
  const outline = acts.outline();
  const node = chosen === undefined ? undefined : outline.byKey.get(subjectOf(chosen).key);
  const isComponent = node?.kind === 'component';
  return (
    <div className={styles['toolbar']} role="toolbar" aria-label="Acts on the structure">
      <Button isSmall look="main" onPress={() => onAsk('add')}>
        <PlusIcon size={14} />
        Add
      </Button>
      {steps.map(([direction, label, Icon]) => (
        <IconButton
          key={direction}
          label={label}
          isDisabled={node === undefined || placeBy(outline, node.key, direction) === undefined}
          onPress={() => node !== undefined && acts.moveBy(node.key, direction)}
        >
          <Icon />
        </IconButton>
      ))}
      <IconButton label="Duplicate" isDisabled={node === undefined} onPress={() => node && acts.duplicate(node.key)}>
        <TwiceIcon />
      </IconButton>
      <IconButton label="Delete" isDisabled={node === undefined} onPress={() => node && acts.remove(node.key)}>
        <BinIcon />
      </IconButton>
      <Menu
        aria-label="More acts"
        placement="bottom end"
        disabledKeys={[
          ...(node === undefined ? ['rename'] : []),
          ...(isComponent ? [] : wrappers.map(([type]) => type)),
          ...(node !== undefined && mayUnwrap(node) ? [] : ['unwrap']),
        ]}
        onAction={(key) => {
          if (key === 'keys') return onAsk('keys');
          if (node === undefined) return;
          if (key === 'rename') return onAsk('rename');
          if (key === 'unwrap') return acts.unwrap(node.key);
          const wrapper = wrappers.find(([type]) => type === key);
          if (wrapper !== undefined) acts.wrap(node.key, makeComponent(wrapper[0], outline, node.parent));
        }}
        trigger={
          <AriaButton className={cx(styles['icon'])} aria-label="More acts">
            <MoreIcon />
          </AriaButton>
        }
      >
        {wrappers.map(([type, label]) => (
          <MenuItem key={type} id={type}>
            {label}
          </MenuItem>
        ))}
        <MenuItem id="unwrap">Unwrap</MenuItem>
        <MenuItem id="rename">Rename…</MenuItem>
        <MenuItem id="keys" textValue="Keys">
          <span className={styles['keysItem']}>
            <HelpIcon size={14} /> Keys…
          </span>
        </MenuItem>
      </Menu>
    </div>
  );
};

type SwitchOfProps = Readonly<{ chosen: TreeNode | undefined; switches: Switches; onChange: (next: Switches) => void }>;

/** Shows the other branch of the condition around the chosen component, or items of the loop around it. */
const SwitchOf = ({ chosen, switches, onChange }: SwitchOfProps) => {
  const around = chosen === undefined ? [] : trailOf(chosen).toReversed();
  const node = around.find(({ type, kind }) => kind === 'component' && (type === 'conditional' || type === 'loop'));
  if (node === undefined) return null;
  const isLoop = node.type === 'loop';
  const options: Readonly<Partial<Record<Switch | 'data', string>>> = isLoop
    ? { data: 'By the data', items: 'With items' }
    : { data: 'By the data', then: 'Then', else: 'Otherwise' };
  return (
    <Choice
      label={isLoop ? labelOf(node) : `If ${conditionWords(node.value['props'])}`}
      value={switches.get(node.key) ?? 'data'}
      options={options}
      onChange={(as) => {
        const next = new Map(switches);
        if (as === 'data') next.delete(node.key);
        else next.set(node.key, as);
        onChange(next);
      }}
    />
  );
};

const TOAST_MS = 8_000;

/** Tells the last act, and offers to undo it. */
const Toast = ({ acts, undo }: Readonly<{ acts: TreeActs; undo: (() => void) | undefined }>) => {
  const { said, dismiss } = acts;
  const [isHeld, setIsHeld] = useState(false);
  useEffect(() => {
    if (said === undefined || isHeld) return;
    const timer = setTimeout(dismiss, TOAST_MS);
    return () => clearTimeout(timer);
  }, [said, isHeld, dismiss]);
  return (
    <div
      className={styles['toastPlace']}
      role="status"
      onMouseEnter={() => setIsHeld(true)}
      onMouseLeave={() => setIsHeld(false)}
      onFocus={() => setIsHeld(true)}
      onBlur={() => setIsHeld(false)}
    >
      {said === undefined ? null : (
        <div className={cx(styles['toast'], said.isRefused && styles['refused'])}>
          <span>
            <bdi>{said.text}</bdi>
          </span>
          {said.canUndo && undo !== undefined ? (
            <Button
              isSmall
              onPress={() => {
                undo();
                dismiss();
              }}
            >
              Undo it
            </Button>
          ) : null}
          <AriaButton className={cx(styles['icon'])} aria-label="Close the sentence" onPress={dismiss}>
            <CloseIcon size={14} />
          </AriaButton>
        </div>
      )}
    </div>
  );
};

/** A letter in the form draws none of these. */
const SettledStructure = memo(Structure);
const SettledCanvas = memo(Canvas);
const SettledToolbar = memo(Toolbar);
const SettledToast = memo(Toast);

const nameIn = ({ kind, value }: TreeNode): string => String(value[kind === 'page' ? 'pageName' : 'id'] ?? '');

const RenameDialog = ({ node, acts, onClose }: Readonly<{ node: TreeNode; acts: TreeActs; onClose: () => void }>) => {
  const [name, setName] = useState(() => nameIn(node));
  const [fault, setFault] = useState<string>();
  const rename = (): void => {
    const refused = acts.rename(node.key, name);
    if (refused === undefined) onClose();
    else setFault(refused);
  };
  return (
    <Dialog
      title={`Rename “${labelOf(node)}”`}
      isOpen
      onClose={onClose}
      acts={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button look="main" onPress={rename}>
            Rename
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          rename();
        }}
      >
        <TextField
          autoFocus
          label="Name"
          hint={node.kind === 'page' ? 'The name of the page.' : 'Its id in the JSON. No recipient sees it.'}
          value={name}
          onChange={setName}
        />
      </form>
      {fault === undefined ? null : <Notice kind="fault">{fault}</Notice>}
    </Dialog>
  );
};

const KeysDialog = ({ onClose }: Readonly<{ onClose: () => void }>) => (
  <Dialog title="Keys of the structure" isOpen onClose={onClose} acts={<Button onPress={onClose}>Close</Button>}>
    <dl className={styles['keys']}>
      {keysOfTree.map(([keys, act]) => (
        <div key={keys}>
          <dt>
            <kbd>{keys}</kbd>
          </dt>
          <dd>{act}</dd>
        </div>
      ))}
    </dl>
    <p>To drag by keys, press the handle of a row, choose a place with the arrows, and press Enter.</p>
  </Dialog>
);
