/** The pages beside those of emails: their addresses, names and permissions. Each is loaded when it is shown. */
import { type ComponentType, lazy, type ReactNode } from 'react';
import {
  AppIcon,
  BrushIcon,
  CallIcon,
  ChartIcon,
  CheckIcon,
  GearIcon,
  GlobeIcon,
  HookIcon,
  KeyIcon,
  LogIcon,
  PeopleIcon,
  PictureIcon,
  SheetIcon,
  StackIcon,
  StopIcon,
} from '../ui/icons';
import type { Permission } from '../resources/resource';

/** Gets the steps of the address behind its path. */
export type StepsPage = ComponentType<Readonly<{ steps: readonly string[] }>>;

type Loaded = Promise<Readonly<{ default: StepsPage }>>;

const Waiting = lazy(() => import('./approvals/waiting'));

/** `needs`: without it, the navigation does not lead there. `mark`: stands behind the title there. */
type Entry = Readonly<{
  path: string;
  title: string;
  icon: ReactNode;
  needs: Permission;
  mark?: ReactNode;
  load: () => Loaded;
}>;

export const groups: readonly Readonly<{ name: string; entries: readonly Entry[] }>[] = [
  {
    name: 'Sending',
    entries: [
      {
        path: 'templates',
        title: 'Templates',
        icon: <SheetIcon />,
        needs: 'templates:read',
        load: () => import('../templates/templates'),
      },
      {
        path: 'batches',
        title: 'Bulk sends',
        icon: <StackIcon />,
        needs: 'emails:read',
        load: () => import('./batches'),
      },
      {
        path: 'approvals',
        title: 'Approvals',
        icon: <CheckIcon />,
        needs: 'emails:read',
        mark: <Waiting />,
        load: () => import('./approvals/page'),
      },
      {
        path: 'domains',
        title: 'Sender domains',
        icon: <GlobeIcon />,
        needs: 'domains:manage',
        load: () => import('./domains'),
      },
      {
        path: 'suppressions',
        title: 'Suppressions',
        icon: <StopIcon />,
        needs: 'suppressions:manage',
        load: () => import('./suppressions'),
      },
      {
        path: 'gallery',
        title: 'Assets',
        icon: <PictureIcon />,
        needs: 'templates:read',
        load: () => import('./assets'),
      },
    ],
  },
  {
    name: 'Programs',
    entries: [
      {
        path: 'api-keys',
        title: 'API keys',
        icon: <KeyIcon />,
        needs: 'api-keys:manage',
        load: () => import('./api-keys'),
      },
      {
        path: 'api-calls',
        title: 'API calls',
        icon: <CallIcon />,
        needs: 'api-keys:manage',
        load: () => import('./api-calls'),
      },
      {
        path: 'webhooks',
        title: 'Webhooks',
        icon: <HookIcon />,
        needs: 'webhooks:manage',
        load: () => import('./webhooks'),
      },
      { path: 'apps', title: 'Apps', icon: <AppIcon />, needs: 'oauth-apps:manage', load: () => import('./apps') },
    ],
  },
  {
    name: 'Team',
    entries: [
      { path: 'members', title: 'Members', icon: <PeopleIcon />, needs: 'team:read', load: () => import('./members') },
      { path: 'usage', title: 'Usage', icon: <ChartIcon />, needs: 'analytics:read', load: () => import('./usage') },
      { path: 'audit', title: 'Audit log', icon: <LogIcon />, needs: 'audit:read', load: () => import('./audit') },
      { path: 'brand', title: 'Brand', icon: <BrushIcon />, needs: 'team:manage', load: () => import('./brand') },
      { path: 'settings', title: 'Settings', icon: <GearIcon />, needs: 'team:read', load: () => import('./settings') },
    ],
  },
];

/** Pages of no team: the menu of the person leads there, and for operators the navigation. */
export const others: readonly Pick<Entry, 'path' | 'load'>[] = [
  { path: 'account', load: () => import('./account') },
  { path: 'system', load: () => import('./system/page') },
];
