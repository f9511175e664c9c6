/** The palette: what can be added, found by words, and where it goes. */
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import {
  Autocomplete,
  Dialog,
  Header,
  Heading,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  ListBoxSection,
  Modal,
  ModalOverlay,
  SearchField,
} from 'react-aria-components';
import { usePlace } from '../../resources/place';
import { Button } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { apiOf } from '../kinds';
import { Choice } from '../preview';
import styles from './design.module.css';
import { ComponentIcon } from './icons';
import { labelOf, type Made, type Outline, type Place, subjectOf, type TreeNode, typesOf } from './model';
import { isMeant, makeComponent, makeInclude, makePage, makeSection, paletteOf, type PaletteEntry } from './palette';

type Where = 'inside' | 'after' | 'before';

const whereWords: Readonly<Record<Where, string>> = { inside: 'Inside', after: 'After', before: 'Before' };

/** Blocks that are offered; a team with more finds others by the form of a block. */
const BLOCKS_MAX = 50;

/** The places beside the chosen node for a component; at the end of the last section where nothing is chosen. */
const placesOf = (
  outline: Outline,
  chosen: TreeNode | undefined,
): readonly (readonly [Where, Place, TreeNode | undefined])[] => {
  const last = outline.roots.findLast(({ list }) => list !== undefined);
  const deepest = last?.kind === 'page' ? last.children.at(-1) : last;
  const target = chosen ?? (outline.list.at(-1) === 'components' ? undefined : deepest);
  const end = outline.list.at(-1) === 'components' ? ({ parent: undefined, index: Infinity } as const) : undefined;
  if (target === undefined) return end === undefined ? [] : [['inside', end, undefined]];
  const node = target.kind === 'page' ? (target.children.at(-1) ?? target) : target;
  const holder = node.type === 'conditional' ? (node.children[0] ?? node) : node;
  const places: (readonly [Where, Place, TreeNode | undefined])[] = [];
  if (holder.list !== undefined && holder.kind !== 'page')
    places.push(['inside', { parent: holder.key, index: Infinity }, holder]);
  const subject = subjectOf(node);
  if (subject.kind === 'component') {
    const parent = subject.parent?.key;
    places.push(['after', { parent, index: subject.index + 1 }, subject.parent]);
    places.push(['before', { parent, index: subject.index }, subject.parent]);
  }
  return places;
};

/** The place behind the section or page around the chosen node. */
const behind = (outline: Outline, chosen: TreeNode | undefined, kind: 'section' | 'page'): Place => {
  for (let node = chosen; node !== undefined; node = node.parent) {
    if (node.kind === kind || (kind === 'section' && node.kind === 'slot'))
      return { parent: node.parent?.key, index: node.index + 1 };
    if (kind === 'section' && node.kind === 'page') return { parent: node.key, index: Infinity };
  }
  const page = outline.kind === 'attachment' && kind === 'section' ? outline.roots.at(-1) : undefined;
  return { parent: page?.key, index: Infinity };
};

type Group = Readonly<{ title: string; entries: readonly PaletteEntry[] }>;

const useBlocks = (isWanted: boolean): readonly PaletteEntry[] => {
  const { scope } = usePlace();
  const { data } = useQuery({
    queryKey: ['/templates/blocks', scope.teamId, 'palette'],
    enabled: isWanted,
    queryFn: ({ signal }) => apiOf.block.list({ limit: BLOCKS_MAX }, { teamId: scope.teamId, signal }),
  });
  return useMemo(
    () =>
      (data?.data ?? [])
        .filter(({ isLayout, publishedVersion }) => isLayout !== true && publishedVersion !== null)
        .map(({ slug, name }) => ({
          id: `include ${slug}`,
          title: name,
          hint: slug,
          words: `block include shared ${slug}`,
        })),
    [data],
  );
};

const AddDialog = ({
  outline,
  chosen,
  onAdd,
  onClose,
}: Readonly<{
  outline: Outline;
  chosen: TreeNode | undefined;
  onAdd: (place: Place, made: Made) => void;
  onClose: () => void;
}>) => {
  const places = placesOf(outline, chosen);
  const [asked, setWhere] = useState<Where>();
  const [where, place, parent] = places.find(([name]) => name === asked) ?? places[0] ?? [];
  const [typed, setTyped] = useState('');
  const blocks = useBlocks(typesOf(outline).includes('include'));
  const hasSections = outline.list.at(-1) !== 'components';
  const parts: readonly PaletteEntry[] = [
    ...(hasSections
      ? [
          {
            id: 'section',
            title: 'Section',
            hint: 'A part of the whole: header, main, footer',
            words: 'section header main body footer part',
          },
        ]
      : []),
    ...(outline.kind === 'attachment'
      ? [{ id: 'page', title: 'Page', hint: 'Sheets with settings of their own', words: 'page sheet' }]
      : []),
  ];
  const all: readonly Group[] = [
    { title: 'Components', entries: place === undefined ? [] : paletteOf(outline) },
    { title: 'Blocks', entries: place === undefined ? [] : blocks },
    { title: 'Sections and pages', entries: parts },
  ];
  const groups = all
    .map(({ title, entries }) => ({ title, entries: entries.filter((entry) => isMeant(entry, typed)) }))
    .filter(({ entries }) => entries.length > 0);
  const add = (id: string): void => {
    onClose();
    if (id === 'section') return onAdd(behind(outline, chosen, 'section'), makeSection(outline));
    if (id === 'page') return onAdd(behind(outline, chosen, 'page'), makePage(outline));
    if (place === undefined) return;
    if (id.startsWith('include ')) return onAdd(place, makeInclude(id.slice('include '.length)));
    const entry = paletteOf(outline).find((one) => one.id === id);
    if (entry !== undefined) onAdd(place, makeComponent(entry.id, outline, parent));
  };
  const options = Object.fromEntries(places.map(([name]) => [name, whereWords[name]]));
  const beside = chosen === undefined ? undefined : labelOf(subjectOf(chosen));
  return (
    <ModalOverlay className={cx(styles['cover'])} isOpen isDismissable onOpenChange={(open) => !open && onClose()}>
      <Modal className={cx(styles['palette'])}>
        <Dialog className={cx(styles['paletteBox'])}>
          <div className={styles['paletteHead']}>
            <Heading slot="title" className={cx(styles['paletteTitle'])}>
              Add
            </Heading>
            {where === undefined || places.length < 2 ? null : (
              <Choice label="Where" value={where} options={options} onChange={setWhere} />
            )}
            {beside === undefined ? null : (
              <span className={styles['beside']}>
                <bdi>{beside}</bdi>
              </span>
            )}
          </div>
          <Autocomplete inputValue={typed} onInputChange={setTyped}>
            <SearchField autoFocus className={cx(styles['search'])} aria-label="Search components">
              <Label className={styles['unseen']}>Search components</Label>
              <Input className={cx(styles['searchInput'])} placeholder="Button, table, if…" />
            </SearchField>
            <ListBox
              aria-label="Components"
              className={cx(styles['entries'])}
              onAction={(key) => add(String(key))}
              renderEmptyState={() => <p className={styles['empty']}>Nothing is called so.</p>}
            >
              {groups.map(({ title, entries }) => (
                <ListBoxSection key={title} id={title}>
                  <Header className={cx(styles['group'])}>{title}</Header>
                  {entries.map(({ id, title: name, hint }) => (
                    <ListBoxItem key={id} id={id} textValue={name} className={cx(styles['entry'])}>
                      <ComponentIcon
                        kind={id === 'section' || id === 'page' ? id : 'component'}
                        type={id.split(' ', 1)[0] ?? ''}
                      />
                      <span>{name}</span>
                      <span className={styles['hint']}>{hint}</span>
                    </ListBoxItem>
                  ))}
                </ListBoxSection>
              ))}
            </ListBox>
          </Autocomplete>
          <div className={styles['paletteFoot']}>
            <Button onPress={onClose}>Close</Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
};

export default AddDialog;
