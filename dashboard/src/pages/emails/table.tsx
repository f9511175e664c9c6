/** The rows of the list of emails: a table on wide screens, cards on phones. Only rows in sight are in the page. */
import { memo, useMemo } from 'react';
import {
  Cell,
  Collection,
  Column,
  Row,
  Table,
  TableBody,
  TableHeader,
  TableLayout,
  TableLoadMoreItem,
  Virtualizer,
} from 'react-aria-components';
import { Spinner } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { ClipIcon } from '../../ui/icons';
import { emailPath } from '../../ui/links';
import { StatusBadge } from '../../ui/status';
import { Moment } from '../../ui/time';
import { useIsPhone } from '../../ui/width';
import type { Email, Emails } from './live';
import type { EmailSearch } from './search';
import styles from './table.module.css';

type EmailTableProps = Pick<Emails, 'hasMore' | 'isLoadingMore' | 'loadMore'> &
  Readonly<{ rows: readonly Email[]; search: EmailSearch }>;

const layouts = {
  wide: { rowHeight: 40, headingHeight: 32, loaderHeight: 44 },
  phone: { rowHeight: 76, headingHeight: 1, loaderHeight: 52 },
} as const;

/** A message of the stream that changes no row does not make the table anew, which is the most work of the page. */
export const EmailTable = memo(({ rows, hasMore, isLoadingMore, loadMore, search }: EmailTableProps) => {
  const isPhone = useIsPhone();
  // Another filter is another list: it begins at its top.
  const list = useMemo(() => JSON.stringify(search), [search]);
  return (
    <Virtualizer
      key={`${list} ${isPhone ? 'phone' : 'wide'}`}
      layout={TableLayout}
      layoutOptions={isPhone ? layouts.phone : layouts.wide}
    >
      <Table aria-label="Emails" className={cx(styles['table'], isPhone && styles['phone'])}>
        {isPhone ? (
          <TableHeader className={cx(styles['heading'])}>
            <Column isRowHeader className={cx(styles['column'])}>
              Email
            </Column>
          </TableHeader>
        ) : (
          <TableHeader className={cx(styles['heading'])}>
            <Column isRowHeader className={cx(styles['column'])} width="2.2fr" minWidth={180}>
              To
            </Column>
            <Column className={cx(styles['column'])} width="3fr" minWidth={200}>
              Subject
            </Column>
            <Column className={cx(styles['column'])} width={128}>
              Status
            </Column>
            <Column className={cx(styles['column'])} width="1.4fr" minWidth={120}>
              Template
            </Column>
            <Column className={cx(styles['column'])} width={124}>
              Accepted
            </Column>
          </TableHeader>
        )}
        <TableBody>
          <Collection items={rows}>{(email) => (isPhone ? cardOf(email) : rowOf(email))}</Collection>
          {hasMore ? (
            <TableLoadMoreItem onLoadMore={loadMore} isLoading={isLoadingMore}>
              <div className={styles['more']}>
                <Spinner label="Loading more emails" />
              </div>
            </TableLoadMoreItem>
          ) : null}
        </TableBody>
      </Table>
    </Virtualizer>
  );
});

const rowOf = (email: Email) => (
  <Row id={email.id} href={emailPath(email.id)} textValue={textOf(email)} className={cx(styles['row'])}>
    <Cell className={cx(styles['cell'])}>
      <Recipient email={email} />
    </Cell>
    <Cell className={cx(styles['cell'])}>
      <span className={styles['cut']}>
        <Subject email={email} />
      </span>
      <Marks email={email} />
    </Cell>
    <Cell className={cx(styles['cell'])}>
      <StatusBadge status={email.status} />
    </Cell>
    <Cell className={cx(styles['cell'], styles['soft'])}>
      <span className={styles['cut']}>{email.emailTemplateName}</span>
    </Cell>
    <Cell className={cx(styles['cell'], styles['soft'])}>
      <Moment at={email.createdAt} />
    </Cell>
  </Row>
);

const cardOf = (email: Email) => (
  <Row id={email.id} href={emailPath(email.id)} textValue={textOf(email)} className={cx(styles['row'])}>
    <Cell className={cx(styles['cell'], styles['card'])}>
      <span className={styles['line']}>
        <span className={cx(styles['cut'], styles['strong'])}>
          <Subject email={email} />
        </span>
        <span className={styles['soft']}>
          <Moment at={email.createdAt} />
        </span>
      </span>
      <span className={styles['line']}>
        <Recipient email={email} />
        <StatusBadge status={email.status} />
      </span>
    </Cell>
  </Row>
);

const textOf = ({ subject, to, status }: Email): string => `${subject ?? 'archived'} ${to?.email ?? ''} ${status}`;

const Recipient = ({ email: { to, recipientCount, archived } }: Readonly<{ email: Email }>) => (
  <span className={styles['cut']}>
    {to === null ? <em>{archived ? 'archived' : 'erased'}</em> : <bdi title={to.name ?? ''}>{to.email}</bdi>}
    {recipientCount > 1 ? <span className={styles['soft']}> +{recipientCount - 1}</span> : null}
  </span>
);

const Subject = ({ email: { subject, archived } }: Readonly<{ email: Email }>) =>
  subject === null || subject === '' ? <em>{archived ? 'archived' : 'no subject'}</em> : <bdi>{subject}</bdi>;

const Marks = ({ email: { attachmentCount, tags, test } }: Readonly<{ email: Email }>) => (
  <span className={styles['marks']}>
    {test ? <span className={styles['tag']}>test</span> : null}
    {tags.slice(0, 2).map((tag) => (
      <span key={tag} className={styles['tag']}>
        {tag}
      </span>
    ))}
    {attachmentCount > 0 ? (
      <span title={attachmentCount === 1 ? '1 attachment' : `${attachmentCount} attachments`}>
        <ClipIcon size={14} />
      </span>
    ) : null}
  </span>
);
