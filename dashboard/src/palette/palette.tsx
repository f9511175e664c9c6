/** The palette: one box that leads to every page, finds things of the team, and begins acts. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import {
  Autocomplete,
  Dialog,
  Header,
  Heading,
  Input,
  Menu,
  MenuItem,
  MenuSection,
  Modal,
  ModalOverlay,
  SearchField,
} from 'react-aria-components';
import type { GetOwnUserResponse } from '#api';
import type { Team } from '../api/queries';
import { rememberTeam } from '../api/team';
import { keptName, ownPath, values } from '../api/values';
import { groups } from '../pages/registry';
import { Button } from '../ui/controls';
import { cx } from '../ui/cx';
import { chooseTheme, themes } from '../ui/theme';
import { acts, type Entry, fitting, keysAt, namedBy, recentOf, SHOWN_MAX, withRecent } from './entries';
import styles from './palette.module.css';
import { findThings } from './search';

const SEARCH_AFTER_MS = 200;
const SEARCH_CHARS_MIN = 2;

const themeTitles = { system: 'Theme: as the system', light: 'Theme: light', dark: 'Theme: dark' } as const;

/** A page of the service that is none of the dashboard. */
const outside = (path: string): string => new URL(ownPath(path), window.location.href).href;

type Person = Readonly<{ teams: readonly Team[]; team: Team | undefined; me: GetOwnUserResponse }>;

const pagesOf = ({ team, me }: Person): readonly Entry[] => [
  ...(team === undefined
    ? []
    : [
        { id: 'overview', title: 'Overview', words: 'start home figures charts', href: '/' },
        { id: 'emails', title: 'Emails', href: '/emails' },
        ...groups.flatMap(({ name, entries }) =>
          entries
            .filter(({ needs }) => team.permissions.includes(needs))
            .map(({ path, title }) => ({ id: path, title, hint: name, href: `/${path}` })),
        ),
      ]),
  { id: 'account', title: 'Your account', words: 'password second factor sessions', href: '/account' },
  ...(me.operator ? [{ id: 'system', title: 'System', words: 'operator health workers', href: '/system' }] : []),
  ...(values.hasMailbox ? [{ id: 'mailbox', title: 'Mailbox', href: outside('/mailbox') }] : []),
  { id: 'guide', title: 'Documentation', words: 'guide help search', href: outside('/docs/guide/') },
  { id: 'docs', title: 'API reference', words: 'openapi swagger', href: outside('/docs') },
];

const actsOf = ({ teams, team }: Person, onKeys: () => void): readonly Entry[] => [
  ...acts.filter(({ needs }) => team?.permissions.includes(needs) === true),
  ...teams
    .filter(({ id }) => id !== team?.id)
    .map(({ id, name }) => ({
      id: `team-${id}`,
      title: `Switch to ${name}`,
      words: 'switch team',
      href: `/emails?team=${encodeURIComponent(id)}`,
      act: () => rememberTeam(id),
    })),
  ...themes.map((theme) => ({ id: `theme-${theme}`, title: themeTitles[theme], act: () => chooseTheme(theme) })),
  { id: 'keys', title: 'Keys of this page', words: 'shortcuts keyboard help', act: onKeys },
];

const useDelayed = (text: string): string => {
  const [delayed, setDelayed] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setDelayed(text), SEARCH_AFTER_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return delayed;
};

export type Shown = 'palette' | 'keys';

type PaletteProps = Person & Readonly<{ path: string; shown: Shown; onShow: (shown: Shown | undefined) => void }>;

export const Palette = ({ path, shown, onShow, ...person }: PaletteProps) => (
  <ModalOverlay
    className={cx(styles['overlay'])}
    isOpen
    isDismissable
    onOpenChange={(isOpen) => {
      if (!isOpen) onShow(undefined);
    }}
  >
    <Modal className={cx(styles['modal'])}>
      {shown === 'keys' ? (
        <Keys path={path} onClose={() => onShow(undefined)} />
      ) : (
        <Dialog className={cx(styles['dialog'])} aria-label="Go to a page, find a thing, do something">
          <Box {...person} onClose={() => onShow(undefined)} onKeys={() => onShow('keys')} />
        </Dialog>
      )}
    </Modal>
  </ModalOverlay>
);

const Box = ({ onClose, onKeys, ...person }: Person & Readonly<{ onClose: () => void; onKeys: () => void }>) => {
  const { team, me } = person;
  const [text, setText] = useState('');
  const searched = useDelayed(text.trim());
  const kept = keptName(`kept:recent:${me.id}:${team?.id ?? ''}`);
  const recent = useMemo(() => recentOf(localStorage.getItem(kept)), [kept]);
  const isSearched = team !== undefined && searched.length >= SEARCH_CHARS_MIN;
  const found = useQuery({
    queryKey: ['palette', team?.id, searched],
    enabled: isSearched,
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: ({ signal }) => findThings(searched, team!, signal),
  });
  const isEmpty = text.trim() === '';
  const sections = [
    ...(isEmpty && recent.length > 0 ? [{ name: 'Recent', entries: recent }] : []),
    { name: 'By what you typed', entries: namedBy(text, team?.permissions ?? []) },
    { name: 'Pages', entries: fitting(pagesOf(person), text) },
    { name: 'Do', entries: fitting(actsOf(person, onKeys), text) },
    ...(isEmpty || !isSearched ? [] : (found.data?.groups ?? [])),
  ]
    .map(({ name, entries }) => ({ name, entries: isEmpty ? entries : entries.slice(0, SHOWN_MAX) }))
    .filter(({ entries }) => entries.length > 0);
  const all = new Map(
    sections.flatMap(({ name, entries }) =>
      entries.map((entry): readonly [string, Entry] => [`${name} ${entry.id}`, entry]),
    ),
  );
  const isBusy =
    !isEmpty &&
    team !== undefined &&
    text.trim().length >= SEARCH_CHARS_MIN &&
    (searched !== text.trim() || found.isFetching);
  const choose = (key: string): void => {
    const entry = all.get(key);
    if (entry === undefined) return;
    if (entry.href?.startsWith('/') === true && entry.act === undefined)
      localStorage.setItem(kept, JSON.stringify(withRecent(recent, entry)));
    if (entry.id !== 'keys') onClose();
    entry.act?.();
  };
  return (
    <Autocomplete inputValue={text} onInputChange={setText}>
      <SearchField className={cx(styles['field'])} aria-label="Search pages, things and acts" autoFocus>
        <Input className={cx(styles['input'])} placeholder="Go to, find, do…" maxLength={200} />
      </SearchField>
      <Menu
        className={cx(styles['menu'])}
        aria-label="Found"
        onAction={(key) => choose(String(key))}
        renderEmptyState={() => (
          <p className={styles['empty']}>{isBusy ? 'Searching…' : `Nothing is found by "${text.trim()}".`}</p>
        )}
      >
        {sections.map(({ name, entries }) => (
          <MenuSection key={name} className={cx(styles['section'])} aria-label={name}>
            <Header className={cx(styles['head'])}>{name}</Header>
            {entries.map((entry) => (
              <MenuItem
                key={entry.id}
                id={`${name} ${entry.id}`}
                textValue={entry.title}
                className={cx(styles['item'])}
                {...(entry.href === undefined ? {} : { href: entry.href })}
              >
                <bdi className={styles['title']}>{entry.title}</bdi>
                {entry.hint === undefined ? null : <bdi className={styles['hint']}>{entry.hint}</bdi>}
              </MenuItem>
            ))}
          </MenuSection>
        ))}
      </Menu>
      <p className={styles['foot']} role="status">
        {isBusy
          ? 'Searching…'
          : found.data?.isPartial === true && isSearched
            ? 'Some lists could not be read; try again.'
            : 'Enter opens, Esc closes'}
      </p>
    </Autocomplete>
  );
};

const Keys = ({ path, onClose }: Readonly<{ path: string; onClose: () => void }>) => (
  <Dialog className={cx(styles['dialog'], styles['keys'])}>
    <Heading slot="title" className={cx(styles['heading'])}>
      Keys of this page
    </Heading>
    <dl>
      {keysAt(path).map(([keys, act]) => (
        <div key={keys}>
          <dt>
            <kbd>{keys}</kbd>
          </dt>
          <dd>{act}</dd>
        </div>
      ))}
    </dl>
    <div className={styles['acts']}>
      <Button onPress={onClose} autoFocus>
        Close
      </Button>
    </div>
  </Dialog>
);
