/** The frame of every page of a signed-in person: navigation, team, account. */
import { useQuery } from '@tanstack/react-query';
import { Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import {
  Button as AriaButton,
  Dialog,
  Header,
  Link as AriaLink,
  MenuSection,
  Modal,
  ModalOverlay,
} from 'react-aria-components';
import type { GetOwnUserResponse, LogoutData, LogoutResponse } from '#api';
import { call } from '../api/client';
import { meQuery, type Team, teamsQuery } from '../api/queries';
import { forgetKept, forgetSession } from '../api/session';
import { chosenTeam, rememberTeam, TeamProvider } from '../api/team';
import { ownPath, values } from '../api/values';
import { cx } from '../ui/cx';
import {
  BookIcon,
  ChevronIcon,
  CloseIcon,
  EmailIcon,
  HomeIcon,
  MailboxIcon,
  MenuIcon,
  PersonIcon,
  PulseIcon,
  SearchIcon,
} from '../ui/icons';
import { Menu, MenuItem, sectionClass } from '../ui/menu';
import { Fault, Loading, State, Whole } from '../ui/states';
import { chooseTheme, currentTheme, onTheme, type Theme, themes } from '../ui/theme';
import { groups } from './registry';
import styles from './shell.module.css';

const themeNames: Readonly<Record<Theme, string>> = { system: 'As the system', light: 'Light', dark: 'Dark' };

const Palette = lazy(() => import('../palette/palette').then(({ Palette: found }) => ({ default: found })));

type Shown = 'palette' | 'keys';

/** Ctrl+K and ⌘K open the palette, unless an editor takes them; a question mark that is not typed shows the keys. */
const usePalette = () => {
  const [shown, setShown] = useState<Shown>();
  const now = useRef(shown);
  now.current = shown;
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const { key, target, ctrlKey, metaKey, altKey, shiftKey } = event;
      if (event.defaultPrevented || altKey || !(target instanceof Element)) return;
      // A dialog asks something, and is answered first.
      const isAsked = now.current === undefined && document.querySelector('[role=dialog], [role=alertdialog]') !== null;
      const isTyping = target.closest('input, textarea, select, [contenteditable]') !== null;
      const wanted: Shown | undefined =
        key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !shiftKey
          ? 'palette'
          : key === '?' && !ctrlKey && !metaKey && !isTyping
            ? 'keys'
            : undefined;
      if (wanted === undefined || isAsked) return;
      event.preventDefault();
      setShown(now.current === wanted ? undefined : wanted);
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  }, []);
  return [shown, setShown] as const;
};

const isMac = /^Mac|^iP/.test(navigator.platform);

/** The pages of a person with a session. */
export const Shell = () => {
  const { team: asked } = useLocation({ select: ({ search }) => search as Readonly<{ team?: string }> });
  const teams = useQuery(teamsQuery);
  const me = useQuery(meQuery);
  const path = useLocation({ select: ({ pathname }) => pathname });
  const [palette, showPalette] = usePalette();
  const fault = teams.error ?? me.error;
  const isKnown = teams.data !== undefined && me.data !== undefined;
  // The page of a person who is known stays: a later read may fail.
  if (fault !== null && !isKnown)
    return (
      <Whole>
        <Fault
          isPage
          fault={fault}
          retry={() => {
            void teams.refetch();
            void me.refetch();
          }}
        />
      </Whole>
    );
  if (!isKnown) return <Loading label="Loading your teams" />;
  const team = chosenTeam(teams.data, asked);
  const who = me.data.name ?? me.data.email ?? '';
  const navigation = (
    <Navigation teams={teams.data} team={team} who={who} me={me.data} onGo={() => showPalette('palette')} />
  );
  return (
    <div className={styles['shell']}>
      <button type="button" className={styles['skip']} onClick={() => document.getElementById('page')?.focus()}>
        Skip to the page
      </button>
      <aside className={styles['side']}>{navigation}</aside>
      <TopBar>{navigation}</TopBar>
      <main id="page" className={styles['page']} tabIndex={-1}>
        {team === undefined ? (
          <NoTeam isMember={teams.data.length > 0} />
        ) : (
          <TeamProvider value={team}>
            <Outlet />
          </TeamProvider>
        )}
      </main>
      {palette === undefined ? null : (
        <Suspense>
          <Palette
            teams={teams.data}
            team={team}
            me={me.data}
            path={path}
            shown={palette}
            onShow={(shown) => showPalette(shown)}
          />
        </Suspense>
      )}
    </div>
  );
};

const NoTeam = ({ isMember }: Readonly<{ isMember: boolean }>) =>
  isMember ? (
    <State title="You are not in this team">
      <p>The address names a team that you are not a member of. Choose one of yours on the left.</p>
    </State>
  ) : (
    <State title="You are in no team yet">
      <p>Ask an owner or admin of a team to invite you. The invitation comes by mail.</p>
    </State>
  );

/** On phones the navigation is behind a button; a link in it closes it. */
const TopBar = ({ children }: Readonly<{ children: ReactNode }>) => {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <header className={styles['top']}>
      <AriaButton className={cx(styles['icon'])} aria-label="Navigation" onPress={() => setIsOpen(true)}>
        <MenuIcon size={20} />
      </AriaButton>
      <ModalOverlay className={cx(styles['overlay'])} isDismissable isOpen={isOpen} onOpenChange={setIsOpen}>
        <Modal className={cx(styles['drawer'])}>
          <Dialog className={cx(styles['dialog'])} aria-label="Navigation">
            <AriaButton slot="close" className={cx(styles['icon'], styles['close'])} aria-label="Close">
              <CloseIcon size={20} />
            </AriaButton>
            <div
              className={styles['filled']}
              onClickCapture={({ target }) => {
                if (target instanceof Element && target.closest('a, [data-leads]') !== null) setIsOpen(false);
              }}
            >
              {children}
            </div>
          </Dialog>
        </Modal>
      </ModalOverlay>
      <Brand />
    </header>
  );
};

const Brand = () => (
  <AriaLink href="/" className={cx(styles['brand'])}>
    <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#b3261e" />
      <path d="M7 11h18v11H7zm0 0 9 7 9-7" fill="none" stroke="#fff" strokeWidth="2" strokeLinejoin="round" />
    </svg>
    sealpost
  </AriaLink>
);

type NavigationProps = Readonly<{
  teams: readonly Team[];
  team: Team | undefined;
  who: string;
  me: GetOwnUserResponse;
  onGo: () => void;
}>;

const Navigation = ({ teams, team, who, me, onGo }: NavigationProps) => (
  <div className={styles['navigation']}>
    <Brand />
    {teams.length === 0 ? null : <TeamSwitcher teams={teams} team={team} />}
    <AriaButton className={cx(styles['go'])} data-leads aria-keyshortcuts="Control+K Meta+K" onPress={onGo}>
      <SearchIcon />
      <span>Go to, find, do</span>
      <kbd aria-hidden="true">{isMac ? '⌘ K' : 'Ctrl K'}</kbd>
    </AriaButton>
    <nav aria-label="Pages">
      <ul>
        <NavItem href="/" icon={<HomeIcon />}>
          Overview
        </NavItem>
        <NavItem href="/emails" icon={<EmailIcon />}>
          Emails
        </NavItem>
      </ul>
      {team === undefined
        ? null
        : groups.map(({ name, entries }) => {
            const shown = entries.filter(({ needs }) => team.permissions.includes(needs));
            return shown.length === 0 ? null : (
              <section key={name} aria-label={name}>
                <h2 className={styles['group']}>{name}</h2>
                <ul>
                  {shown.map(({ path, title, icon, mark }) => (
                    <NavItem key={path} href={`/${path}`} icon={icon}>
                      {title}
                      <TeamProvider value={team}>
                        <Suspense>{mark}</Suspense>
                      </TeamProvider>
                    </NavItem>
                  ))}
                </ul>
              </section>
            );
          })}
      <ul className={styles['outside']}>
        {me.operator && team !== undefined ? (
          <NavItem href="/system" icon={<PulseIcon />}>
            System
          </NavItem>
        ) : null}
        {values.hasMailbox ? (
          <NavLink href={ownPath('/mailbox')} icon={<MailboxIcon />}>
            Mailbox
          </NavLink>
        ) : null}
        <NavLink href={ownPath('/docs/guide/')} icon={<BookIcon />}>
          Documentation
        </NavLink>
      </ul>
    </nav>
    <AccountMenu who={who} email={me.email} />
  </div>
);

type NavItemProps = Readonly<{ href: string; icon: ReactNode; children: ReactNode }>;

/** A page of the dashboard. */
const NavItem = ({ href, icon, children }: NavItemProps) => {
  const isCurrent = useLocation({ select: ({ pathname }) => pathname === href || pathname.startsWith(`${href}/`) });
  return (
    <li>
      <AriaLink href={href} className={cx(styles['item'])} {...(isCurrent ? { 'aria-current': 'page' } : {})}>
        {icon}
        {children}
      </AriaLink>
    </li>
  );
};

/** Another page of the service. */
const NavLink = ({ href, icon, children }: NavItemProps) => (
  <li>
    <a href={href} className={styles['item']}>
      {icon}
      {children}
    </a>
  </li>
);

/** A choice stands in the address where the person has several teams, so that it leads others to the team, too. */
const TeamSwitcher = ({ teams, team }: Readonly<{ teams: readonly Team[]; team: Team | undefined }>) => {
  const navigate = useNavigate();
  const name = team?.name ?? 'Choose a team';
  if (teams.length === 1 && team !== undefined) return <p className={styles['team']}>{name}</p>;
  return (
    <Menu
      aria-label="Teams"
      selectionMode="single"
      selectedKeys={team === undefined ? [] : [team.id]}
      onAction={(id) => {
        rememberTeam(String(id));
        void navigate({ to: '/emails', search: { team: String(id) } });
      }}
      trigger={
        <AriaButton className={cx(styles['switcher'])} aria-label={`Team ${name}`}>
          <span>{name}</span>
          <ChevronIcon />
        </AriaButton>
      }
    >
      {teams.map((one) => (
        <MenuItem key={one.id} id={one.id} textValue={one.name}>
          {one.name}
          <span className={styles['role']}>{one.role}</span>
        </MenuItem>
      ))}
    </Menu>
  );
};

const AccountMenu = ({ who, email }: Readonly<{ who: string; email: string | null }>) => {
  const navigate = useNavigate();
  const theme = useSyncExternalStore(onTheme, currentTheme);
  const signOut = async (): Promise<void> => {
    await call<LogoutData, LogoutResponse>('POST', { url: '/api/auth/logout' }).catch(() => undefined);
    forgetSession();
    forgetKept();
    await navigate({ to: '/sign-in', search: {} });
  };
  return (
    <Menu
      aria-label="Account"
      placement="top start"
      trigger={
        <AriaButton className={cx(styles['account'])} aria-label={`Account of ${who}`}>
          <PersonIcon />
          <span>{who}</span>
          <ChevronIcon />
        </AriaButton>
      }
    >
      <MenuSection
        className={sectionClass}
        aria-label="Theme"
        selectionMode="single"
        disallowEmptySelection
        selectedKeys={[theme]}
        onSelectionChange={(keys) => {
          const chosen = themes.find((one) => keys !== 'all' && keys.has(one));
          if (chosen === undefined) return;
          chooseTheme(chosen);
        }}
      >
        <Header>Theme</Header>
        {themes.map((one) => (
          <MenuItem key={one} id={one}>
            {themeNames[one]}
          </MenuItem>
        ))}
      </MenuSection>
      <MenuSection className={sectionClass} aria-label="You">
        {email === null ? <></> : <Header>{email}</Header>}
        <MenuItem id="account" href="/account">
          Your account
        </MenuItem>
        <MenuItem id="sign-out" onAction={() => void signOut()}>
          Sign out
        </MenuItem>
      </MenuSection>
    </Menu>
  );
};
