/** How many sends wait for a person: the number behind the name of the page in the navigation. */
import { useQuery } from '@tanstack/react-query';
import type { ListApprovalsData, ListApprovalsResponse } from '#api';
import { operation } from '../../api/client';
import { useTeam } from '../../api/team';
import styles from './approvals.module.css';

const list = operation<ListApprovalsData, ListApprovalsResponse>('GET', '/api/approvals');

/** Pages that follow the stream of changes are told at once. */
const LOOK_EVERY_MS = 30_000;

const Waiting = () => {
  const { id: teamId, permissions } = useTeam();
  const { data } = useQuery({
    queryKey: ['/approvals', teamId, 'waiting'],
    enabled: permissions.includes('approvals:decide'),
    refetchInterval: LOOK_EVERY_MS,
    retry: false,
    queryFn: ({ signal }) => list({ query: { status: 'requested', limit: 1 } }, { teamId, signal }),
  });
  const count = data?.meta.total ?? 0;
  return count === 0 ? null : (
    <span className={styles['waiting']}>
      {count.toLocaleString()}
      <span className={styles['hidden']}> waiting</span>
    </span>
  );
};

export default Waiting;
