/** Templates: the lists of the three kinds, the form of a new one, and the way to the page of each. */
import { lazy, Suspense } from 'react';
import { Link } from 'react-aria-components';
import { NotAllowed, NothingHere } from '../resources/pages';
import { usePlace } from '../resources/place';
import { may } from '../resources/resource';
import { cx } from '../ui/cx';
import { Loading } from '../ui/states';
import { kinds } from './content';
import { kindOf, wordsOf } from './kinds';
import { listOf } from './lists';
import styles from './templates.module.css';

const TemplatePage = lazy(() => import('./page'));
const ImportPage = lazy(() => import('./import/page'));

/** Addresses: `templates`, `templates/<kind>`, `templates/<kind>/new`, `templates/<kind>/<id>`, `templates/emails/import`. */
const Templates = ({ steps }: Readonly<{ steps: readonly string[] }>) => {
  const { scope } = usePlace();
  const [step = 'emails', id, ...others] = steps;
  const kind = kindOf(step);
  if (kind === undefined || others.length > 0) return <NothingHere title="Templates" />;
  if (kind === 'email' && id === 'import')
    return may(scope, 'templates:write') ? (
      <Suspense fallback={<Loading label="Loading the import" />}>
        <ImportPage />
      </Suspense>
    ) : (
      <NotAllowed needs="templates:write" title="Import" />
    );
  const List = listOf[kind];
  if (id === undefined || id === 'new' || !may(scope, 'templates:read'))
    return (
      <>
        <nav className={styles['kinds']} aria-label="Kinds of templates">
          {kinds.map((one) => (
            <Link
              key={one}
              href={wordsOf[one].path}
              className={cx(styles['kind'])}
              {...(one === kind ? { 'aria-current': 'page' as const } : {})}
            >
              {wordsOf[one].tab}
            </Link>
          ))}
        </nav>
        <List key={kind} steps={id === undefined ? [] : [id]} />
      </>
    );
  return (
    <Suspense fallback={<Loading label="Loading the template" />}>
      <TemplatePage key={`${kind} ${id}`} kind={kind} id={id} />
    </Suspense>
  );
};

export default Templates;
