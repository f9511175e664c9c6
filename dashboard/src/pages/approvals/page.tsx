/** Sends that programs ask for and a person decides on: those that wait, what each would send, and what was decided. */
import { type ReactNode, useCallback } from 'react';
import type {
  ApproveSendData,
  ApproveSendResponse,
  GetApprovalData,
  GetApprovalResponse,
  ListApprovalsData,
  ListApprovalsResponse,
  RejectSendData,
  RejectSendResponse,
} from '#api';
import { operation } from '../../api/client';
import { queryClient } from '../../api/queries';
import { useLive } from '../../api/stream';
import { resourcePages } from '../../resources/pages';
import { may, type Scope } from '../../resources/resource';
import { Copied, queryOf } from '../../resources/values';
import { ButtonLink, Notice, TextLink } from '../../ui/controls';
import { emailPath, recipientPath } from '../../ui/links';
import { State } from '../../ui/states';
import { StatusBadge, type Tone } from '../../ui/status';
import { Moment } from '../../ui/time';
import { Person } from '../person';
import styles from './approvals.module.css';
import { ApprovalMail } from './mail';

const list = operation<ListApprovalsData, ListApprovalsResponse>('GET', '/api/approvals');
const get = operation<GetApprovalData, GetApprovalResponse>('GET', '/api/approvals/{id}');
const approve = operation<ApproveSendData, ApproveSendResponse>('POST', '/api/approvals/{id}/approve');
const reject = operation<RejectSendData, RejectSendResponse>('POST', '/api/approvals/{id}/reject');

type Approval = GetApprovalResponse;
type Status = Approval['status'];
type Reason = NonNullable<Approval['reason']>;
type Recipient = NonNullable<Approval['proposal']>['to'][number];

const words: Readonly<Record<Status, string>> = {
  requested: 'waiting',
  approved: 'approved',
  rejected: 'rejected',
  expired: 'expired',
  withdrawn: 'withdrawn',
};

const tones: Readonly<Record<Status, Tone>> = {
  requested: 'busy',
  approved: 'good',
  rejected: 'bad',
  expired: 'still',
  withdrawn: 'still',
};

const reasons: Readonly<Record<Reason, string>> = {
  recipient: 'It is for the wrong recipient',
  content: 'Its content is wrong',
  timing: 'It is not the time for it',
  unwanted: 'Nobody wants it',
  other: 'Another reason',
};

/** Those that wait are fewer than this: the service refuses more. */
const WAITING_MAX = 100;

const Badge = ({ approval: { status, failureCode } }: Readonly<{ approval: Approval }>) =>
  failureCode === null ? (
    <StatusBadge status={words[status]} tone={tones[status]} />
  ) : (
    <StatusBadge status="approved, not sent" tone="bad" />
  );

const subjectOf = ({ proposal, templateId, templateName }: Approval): string =>
  proposal === null ? `Destroyed: ${templateId === 'inline' ? 'an email' : templateName}` : proposal.subject;

/** An actor as the API names it, such as `apiKey:key_…`. */
const Actor = ({ actor, name }: Readonly<{ actor: string; name?: string | null }>) => {
  const [kind = '', id = ''] = [actor.slice(0, actor.indexOf(':')), actor.slice(actor.indexOf(':') + 1)];
  if (kind === 'user') return <Person id={id} />;
  const shown = name === null || name === undefined ? <code>{id}</code> : <bdi>{name}</bdi>;
  if (kind === 'apiKey') return <>API key {shown}</>;
  if (kind === 'grant') return <>app {shown}</>;
  return <>{actor}</>;
};

const Asker = ({ approval: { askedBy, askedByName, askedFor } }: Readonly<{ approval: Approval }>) => (
  <>
    <Actor actor={askedBy} name={askedByName} />
    {askedFor === null ? null : (
      <>
        {' '}
        for <Actor actor={askedFor} />
      </>
    )}
  </>
);

const Recipients = ({ of }: Readonly<{ of: readonly Recipient[] }>) => (
  <ul className={styles['people']}>
    {of.map(({ email, name }, place) => (
      <li key={place}>
        {name === undefined ? null : (
          <>
            <bdi>{name}</bdi>{' '}
          </>
        )}
        <TextLink href={recipientPath(email)}>
          <bdi>{email}</bdi>
        </TextLink>
      </li>
    ))}
  </ul>
);

const countOf = (count: number, one: string): string => `${count.toLocaleString()} ${one}${count === 1 ? '' : 's'}`;

/** In: a row of the list. Out: its first recipient, and how many others there are. */
const toOf = ({ proposal, recipientCount }: Approval): ReactNode => {
  const first = proposal === null ? undefined : [...proposal.to, ...proposal.cc, ...proposal.bcc][0];
  if (first === undefined) return countOf(recipientCount, 'recipient');
  return (
    <>
      <bdi>{first.email}</bdi>
      {recipientCount < 2 ? null : (
        <span className={styles['soft']}> and {(recipientCount - 1).toLocaleString()} more</span>
      )}
    </>
  );
};

const costOf = ({ cost: { emails, attachments } }: Approval): string =>
  emails + attachments === 0 ? 'nothing' : countOf(emails + attachments, 'credit');

const isWaiting = ({ status }: Approval): boolean => status === 'requested';

/** Another person or the program may have decided meanwhile: the page then shows it. */
const decided = async <Answer,>(decision: Promise<Answer>, { teamId }: Scope): Promise<Answer> => {
  try {
    return await decision;
  } catch (fault) {
    void queryClient.invalidateQueries({ queryKey: ['/approvals', teamId] });
    throw fault;
  }
};

/** The waiting ones first, then all others, the newest first. */
const listed = async (
  { status, cursor, ...query }: Parameters<typeof queryOf>[0],
  { teamId }: Scope,
  signal: AbortSignal,
): Promise<ListApprovalsResponse> => {
  const paged = { ...query, ...(cursor === undefined ? {} : { cursor }) };
  if (status !== undefined) return list({ query: queryOf({ ...paged, status }) }, { teamId, signal });
  const [waiting, all] = await Promise.all([
    cursor === undefined
      ? list({ query: { status: 'requested', limit: WAITING_MAX } }, { teamId, signal })
      : Promise.resolve({ data: [] }),
    list({ query: queryOf(paged) }, { teamId, signal }),
  ]);
  // One that is decided between the two reads stands in both.
  const ids = new Set(waiting.data.map(({ id }) => id));
  return { ...all, data: [...waiting.data, ...all.data.filter((one) => !isWaiting(one) && !ids.has(one.id))] };
};

const Decision = ({ approval }: Readonly<{ approval: Approval }>) => {
  const { status, decidedAt, decidedBy, reason } = approval;
  if (decidedAt === null) return null;
  if (decidedBy === null)
    return (
      <>
        {status === 'expired' ? 'nobody decided in time' : 'a recipient was erased'}, <Moment at={decidedAt} />
      </>
    );
  return (
    <>
      {words[status]} by <Actor actor={decidedBy} />, <Moment at={decidedAt} />
      {reason === null ? null : `: ${reasons[reason]}`}
    </>
  );
};

const after: Readonly<Record<Exclude<Status, 'requested' | 'approved'>, string>> = {
  rejected: 'A person rejected it, and the mail was destroyed. Who asked can read the reason.',
  expired: 'Nobody decided in time, and the mail was destroyed. The program can ask anew.',
  withdrawn: 'It was taken back, or a recipient of it was erased, and the mail was destroyed. Nothing leaves.',
};

const More = ({ row, scope }: Readonly<{ row: Approval; scope: Scope }>) => {
  const { status, proposal, emailId, failureCode } = row;
  const isLive = useLive(
    scope.teamId,
    // The stream itself brings approvals to the queries.
    useCallback(() => undefined, []),
  );
  const isShown = proposal !== null && emailId === null;
  return (
    <>
      <div className={styles['notices']}>
        {isWaiting(row) && !may(scope, 'approvals:decide') ? (
          <Notice kind="note">
            As {scope.team.role} of {scope.team.name} you cannot approve or reject it. Members, admins and owners can.
          </Notice>
        ) : null}
        {isWaiting(row) && !isLive ? (
          <Notice kind="note">Not live: a decision of somebody else is not shown here at once.</Notice>
        ) : null}
        {failureCode === null ? null : (
          <Notice kind="fault">
            It was approved, and then refused with <code>{failureCode}</code>: nothing has left.
          </Notice>
        )}
        {!isShown || proposal.warnings.length === 0 ? null : (
          <Notice kind="note">
            <p>Look at these first:</p>
            <ul className={styles['list']}>
              {proposal.warnings.map((warning, place) => (
                <li key={place}>{warning}</li>
              ))}
            </ul>
          </Notice>
        )}
      </div>
      {isShown ? (
        <ApprovalMail approval={row} scope={scope} />
      ) : emailId !== null ? (
        <State
          title="It was sent"
          act={
            <ButtonLink href={emailPath(emailId)} look="main">
              See the email
            </ButtonLink>
          }
        >
          <p>The page of the email shows what left, and what became of it.</p>
        </State>
      ) : (
        <State title="There is no mail to show">
          <p>{status === 'requested' || status === 'approved' ? after.withdrawn : after[status]}</p>
        </State>
      )}
    </>
  );
};

/** Keeps the list live. */
const Live = ({ scope }: Readonly<{ scope: Scope }>) => {
  useLive(
    scope.teamId,
    useCallback(() => undefined, []),
  );
  return null;
};

export default resourcePages<Approval>({
  path: '/approvals',
  one: 'approval',
  many: 'Approvals',
  needs: 'emails:read',
  about: 'Sends that a program asked for. Each leaves once a person has approved it, exactly as it is shown.',
  first: (
    <>
      A program asks by <code>POST /api/approvals</code> or as an MCP client, and nothing leaves before a person of the
      team has approved it here.
    </>
  ),
  idOf: ({ id }) => id,
  titleOf: subjectOf,
  list: listed,
  get: (id, { teamId }, signal) => get({ path: { id } }, { teamId, signal }),
  filters: [
    {
      name: 'status',
      label: 'Show',
      kind: 'select',
      choices: [{ value: '', label: 'all' }, ...Object.entries(words).map(([value, label]) => ({ value, label }))],
    },
  ],
  columns: [
    { name: 'Subject', cell: (row) => <bdi>{subjectOf(row)}</bdi> },
    { name: 'State', cell: (row) => <Badge approval={row} /> },
    { name: 'To', cell: toOf },
    { name: 'Asked by', cell: (row) => <Asker approval={row} /> },
    { name: 'Asked', cell: ({ askedAt }) => <Moment at={askedAt} /> },
    {
      name: 'Decided',
      cell: ({ decidedAt, expiresAt, status }) =>
        decidedAt !== null ? (
          <Moment at={decidedAt} />
        ) : status === 'requested' ? (
          <>
            until <Moment at={expiresAt} />
          </>
        ) : (
          ''
        ),
    },
  ],
  badge: (row) => <Badge approval={row} />,
  facts: (row, { team }) => {
    const { proposal, templateId, templateName, templateVersion, scheduledAt } = row;
    const asked = ['to', 'cc', 'bcc'] as const;
    return [
      ['Asked by', <Asker key="asker" approval={row} />],
      proposal === null
        ? ['Recipients', row.recipientCount.toLocaleString()]
        : [
            'From',
            <bdi key="from">
              {proposal.from.name === undefined ? '' : `${proposal.from.name} `}
              {proposal.from.email}
            </bdi>,
          ],
      ...asked.map((role) => {
        const of = proposal?.[role] ?? [];
        const shown = { to: 'To', cc: 'Cc', bcc: 'Bcc' }[role];
        return of.length === 0 ? undefined : ([shown, <Recipients key={role} of={of} />] as const);
      }),
      isWaiting(row)
        ? [
            'If you approve',
            <>
              {scheduledAt === null ? (
                'it leaves at once'
              ) : (
                <>
                  it leaves <Moment at={scheduledAt} />
                </>
              )}
              {row.test ? ', as a test: nothing is delivered' : `, and costs ${costOf(row)}`}
            </>,
          ]
        : undefined,
      ['Asked', <Moment key="asked" at={row.askedAt} />],
      isWaiting(row)
        ? ['It can be approved until', <Moment key="until" at={row.expiresAt} />]
        : ['Decision', <Decision key="decision" approval={row} />],
      templateId === 'inline'
        ? ['Template', 'none: content of the call']
        : [
            'Template',
            <>
              {team.permissions.includes('templates:read') ? (
                <TextLink href={`/templates/emails/${encodeURIComponent(templateId)}`}>
                  <bdi>{templateName}</bdi>
                </TextLink>
              ) : (
                <bdi>{templateName}</bdi>
              )}{' '}
              <span className={styles['soft']}>
                {templateVersion === null ? 'draft' : `version ${templateVersion}`}
              </span>
            </>,
          ],
      ['Id', <Copied key="id" value={row.id} of="the id" />],
    ];
  },
  More,
  Below: Live,
  acts: [
    {
      label: 'Approve',
      look: 'main',
      needs: 'approvals:decide',
      isFor: isWaiting,
      ask: (row) => ({
        title: 'Approve this email?',
        text: (
          <p>
            “<bdi>{subjectOf(row)}</bdi>” {row.test ? 'becomes a test email' : 'leaves'} for{' '}
            {countOf(row.recipientCount, 'recipient')}
            {row.scheduledAt === null ? ' at once' : ''}
            {row.scheduledAt === null ? null : (
              <>
                {' '}
                on <Moment at={row.scheduledAt} />
              </>
            )}
            , exactly as it is shown here. It costs {costOf(row)}.
          </p>
        ),
      }),
      run: async ({ id, digest }, _values, scope) => {
        const { failureCode } = await decided(
          approve({ path: { id }, body: { digest } }, { teamId: scope.teamId }),
          scope,
        );
        return {
          say:
            failureCode === null
              ? 'You approved it. The email is on its way.'
              : 'You approved it, and it was refused: the page says why.',
        };
      },
    },
    {
      label: 'Reject',
      look: 'danger',
      needs: 'approvals:decide',
      isFor: isWaiting,
      ask: () => ({
        title: 'Reject this email?',
        text: <p>The proposed mail is destroyed. The program that asked can read the reason.</p>,
      }),
      fields: () => [
        {
          name: 'reason',
          label: 'Reason',
          kind: 'select',
          initial: 'other',
          choices: Object.entries(reasons).map(([value, label]) => ({ value, label })),
        },
      ],
      run: async ({ id }, values, scope) => {
        const reason = values['reason'] as Reason;
        await decided(reject({ path: { id }, body: { reason } }, { teamId: scope.teamId }), scope);
        return { say: 'You rejected it. Nothing leaves.' };
      },
    },
  ],
});
