/** The addresses of the dashboard. Filters are plain parameters of the query, so that an address can be sent to others. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
  retainSearchParams,
  useRouter,
} from '@tanstack/react-router';
import { RouterProvider as AriaRouter } from 'react-aria-components';
import { isSignedIn, whenSessionEnds } from './api/session';
import { withTeam } from './api/team';
import { dashboardUrl } from './api/values';
import { emailSearchOf } from './pages/emails/search';
import { Shell } from './pages/shell';
import { SignInPage } from './pages/sign-in';
import { StartPage } from './pages/start';
import { FaultPage, NotFoundPage, part, PartFault } from './ui/states';

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

const basepath = dashboardUrl.pathname.replace(/\/$/, '');

/**
 * In: the address of a link. A path is one of the dashboard, which may lie below the path of a proxy. The team of the
 * address goes on with it.
 */
const addressOf = (href: string): string => (href.startsWith('/') ? `${basepath}${withTeam(href)}` : href);

/** Links of React Aria lead through the router. */
const Root = () => {
  const router = useRouter();
  return (
    <AriaRouter
      navigate={(href) => {
        if (href.startsWith('/')) router.history.push(addressOf(href));
        else window.location.assign(href);
      }}
      useHref={addressOf}
    >
      <Outlet />
    </AriaRouter>
  );
};

const root = createRootRoute({ component: Root, notFoundComponent: NotFoundPage, errorComponent: FaultPage });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): { returnTo?: string } => {
    const returnTo = text(search['returnTo']);
    return returnTo === undefined ? {} : { returnTo };
  },
  component: SignInPage,
});

const start = createRoute({ getParentRoute: () => root, path: '/start', component: StartPage });

const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  validateSearch: (search: Record<string, unknown>): { team?: string } => {
    const team = text(search['team']);
    return team === undefined ? {} : { team };
  },
  search: { middlewares: [retainSearchParams(['team'])] },
  beforeLoad: ({ location }) => {
    if (isSignedIn()) return;
    throw redirect({ to: '/sign-in', search: location.href === '/' ? {} : { returnTo: location.href } });
  },
  component: Shell,
});

/** Parameters that a page reads by itself. */
const texts = (search: Record<string, unknown>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(search).filter((pair): pair is [string, string] => text(pair[1]) !== undefined));

const home = createRoute({
  getParentRoute: () => inside,
  path: '/',
  validateSearch: texts,
  component: lazyRouteComponent(
    part(() => import('./pages/overview/overview')),
    'OverviewPage',
  ),
});

export const emailsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/emails',
  validateSearch: emailSearchOf,
  component: lazyRouteComponent(
    part(() => import('./pages/emails/list')),
    'EmailsPage',
  ),
});

const emailRoute = createRoute({
  getParentRoute: () => inside,
  path: '/emails/$id',
  component: lazyRouteComponent(
    part(() => import('./pages/email/page')),
    'EmailPage',
  ),
});

const recipientRoute = createRoute({
  getParentRoute: () => inside,
  path: '/recipients/$address',
  component: lazyRouteComponent(
    part(() => import('./pages/recipient/page')),
    'RecipientPage',
  ),
});

const leaveRoute = createRoute({
  getParentRoute: () => root,
  path: '/leave',
  component: lazyRouteComponent(
    part(() => import('./pages/leave')),
    'LeavePage',
  ),
});

/** Pages that are made from declarations (pages/registry.ts), and addresses without a page. */
const others = createRoute({
  getParentRoute: () => inside,
  path: '$',
  validateSearch: texts,
  component: lazyRouteComponent(
    part(() => import('./pages/others')),
    'OtherPage',
  ),
});

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    start,
    leaveRoute,
    inside.addChildren([home, emailsRoute, emailRoute, recipientRoute, others]),
  ]),
  basepath,
  defaultPreload: 'intent',
  defaultNotFoundComponent: NotFoundPage,
  defaultErrorComponent: PartFault,
  scrollRestoration: true,
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(search)) if (typeof value === 'string') parameters.set(name, value);
    const query = parameters.toString();
    return query === '' ? '' : `?${query}`;
  },
});

whenSessionEnds(() => {
  const { href, pathname } = router.latestLocation;
  if (pathname === '/sign-in') return;
  void router.navigate({ to: '/sign-in', search: href === '/' ? {} : { returnTo: href }, replace: true });
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
