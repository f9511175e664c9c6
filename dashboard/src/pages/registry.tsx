/** The pages beside those of emails: their addresses, names and permissions. Each is loaded when it is shown. */
import type { ComponentType, ReactNode } from 'react';
import { KeyIcon } from '../ui/icons';
import type { Permission } from '../resources/resource';

/** Gets the steps of the address behind its path. */
export type StepsPage = ComponentType<Readonly<{ steps: readonly string[] }>>;

type Loaded = Promise<Readonly<{ default: StepsPage }>>;

/** `needs`: without it, the navigation does not lead there. */
type Entry = Readonly<{
  path: string;
  title: string;
  icon: ReactNode;
  needs: Permission;
  load: () => Loaded;
}>;

export const groups: readonly Readonly<{ name: string; entries: readonly Entry[] }>[] = [
  {
    name: 'For your programs',
    entries: [
      {
        path: 'api-keys',
        title: 'API keys',
        icon: <KeyIcon />,
        needs: 'api-keys:manage',
        load: () => import('./api-keys'),
      },
    ],
  },
];
