/** The instance, for its operators: what needs a person, and the state of each process, relay, worker and read model. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { GetSystemData, GetSystemResponse } from '#api';
import { operation } from '../../api/client';
import { Facts, NothingHere, PageHead, Rows, Section } from '../../resources/pages';
import { usePlace } from '../../resources/place';
import type { RowsOf } from '../../resources/resource';
import { Maybe, sizeOf } from '../../resources/values';
import { Notice } from '../../ui/controls';
import { Fault, Loading, State } from '../../ui/states';
import { StatusBadge, type Tone } from '../../ui/status';
import { Moment } from '../../ui/time';
import { type Need, needsOf, shortId } from './needs';
import styles from './system.module.css';

const get = operation<GetSystemData, GetSystemResponse>('GET', '/api/system');

const REFRESH_MS = 5_000;

type System = GetSystemResponse;
type Process = System['processes'][number];
/** A part of a process, with the process. */
type Part<Name extends 'workers' | 'relays' | 'readModels' | 'processors'> = Process[Name][number] &
  Readonly<{ process: Process }>;

const tones: Readonly<Record<string, Tone>> = {
  ready: 'good',
  degraded: 'warn',
  unavailable: 'bad',
  stopping: 'still',
  running: 'good',
  starting: 'busy',
  restarting: 'warn',
  stopped: 'bad',
  sound: 'good',
  damaged: 'bad',
  tampered: 'bad',
  unfinished: 'warn',
};

const Badge = ({ status }: Readonly<{ status: string }>) => (
  <StatusBadge status={status} tone={tones[status] ?? 'still'} />
);

/** The worst health of a process. */
const worstOf = ({ processes }: System): Process['status'] =>
  (['unavailable', 'degraded', 'stopping'] as const).find((one) => processes.some(({ status }) => status === one)) ??
  'ready';

const breakers: Readonly<Record<Part<'relays'>['breaker'], readonly [text: string, tone: Tone]>> = {
  closed: ['takes mail', 'good'],
  'half-open': ['is tried again', 'busy'],
  open: ['away', 'bad'],
};

const partsOf = <Name extends 'workers' | 'relays' | 'readModels' | 'processors'>(
  { processes }: System,
  name: Name,
): readonly Part<Name>[] =>
  processes.flatMap((process) => process[name].map((part) => ({ ...part, process }) as unknown as Part<Name>));

const idOfPart = ({ name, process }: Readonly<{ name: string; process: Process }>): string => `${process.id} ${name}`;
const titleOfPart = ({ name }: Readonly<{ name: string }>): string => name;

const processColumn = {
  name: 'Process',
  cell: ({ process }: Readonly<{ process: Process }>): ReactNode => <code>{shortId(process.id)}</code>,
} as const;

/** The rows of parts say of which process they are where there are several. */
const partRows = <Row extends Readonly<{ name: string; process: Process }>>(
  many: string,
  isOne: boolean,
  columns: RowsOf<Row>['columns'],
): RowsOf<Row> => ({
  many,
  idOf: idOfPart,
  titleOf: titleOfPart,
  columns: isOne ? columns : [...columns, processColumn],
});

const secondsOf = (seconds: number): string => (seconds === 0 ? 'up to date' : `${seconds.toLocaleString()} s behind`);

const processRows: RowsOf<Process> = {
  many: 'Processes',
  idOf: ({ id }) => id,
  titleOf: ({ id }) => id,
  columns: [
    {
      name: 'Process',
      cell: ({ id, answering }) => (
        <span title={id}>
          <code>{shortId(id)}</code>
          {answering ? ' · answers you' : ''}
        </span>
      ),
    },
    { name: 'Health', cell: ({ status }) => <Badge status={status} /> },
    { name: 'Roles', cell: ({ roles }) => roles.join(', ') },
    { name: 'sealpost', cell: ({ service }) => service },
    { name: 'Node', cell: ({ node }) => node },
    { name: 'Schema', cell: ({ schema }) => <code>{schema}</code>, isWide: true },
    { name: 'Memory', cell: ({ memoryBytes }) => sizeOf(memoryBytes), isEnd: true },
    { name: 'Runs since', cell: ({ startedAt }) => <Moment at={startedAt} /> },
  ],
};

type QueueRow = System['queue']['high'] & Readonly<{ priority: string }>;

const queueRows: RowsOf<QueueRow> = {
  many: 'Queue',
  idOf: ({ priority }) => priority,
  titleOf: ({ priority }) => priority,
  columns: [
    { name: 'Priority', cell: ({ priority }) => priority },
    { name: 'First attempt', cell: ({ queued }) => queued.toLocaleString(), isEnd: true },
    { name: 'Another attempt', cell: ({ deferred }) => deferred.toLocaleString(), isEnd: true },
    { name: 'Wait for a relay', cell: ({ held }) => held.toLocaleString(), isEnd: true },
    { name: 'Oldest is due since', cell: ({ oldestDueAt }) => <Maybe at={oldestDueAt} otherwise="–" /> },
  ],
};

const queueOf = ({ queue }: System): readonly QueueRow[] =>
  (['high', 'normal', 'low'] as const).map((priority) => ({ priority, ...queue[priority] }));

const NeedsList = ({ needs, system }: Readonly<{ needs: readonly Need[]; system: System }>) => {
  if (needs.length === 0) {
    const { length } = system.processes;
    return (
      <p className={styles['well']}>
        <StatusBadge status="Nothing" tone="good" /> {length === 1 ? 'The process' : `Each of the ${length} processes`}{' '}
        is healthy, mail leaves, and lists are up to date.
      </p>
    );
  }
  return (
    <ul className={styles['needs']}>
      {needs.map(({ key, tone, what, act, where }) => (
        <li key={key} className={styles[tone]}>
          <p className={styles['what']}>{what}</p>
          <p>
            {act}
            {where.length === 0 ? null : (
              <span className={styles['where']}>
                {' '}
                Process{' '}
                {where.map((id) => (
                  <code key={id}>{id} </code>
                ))}
              </span>
            )}
          </p>
        </li>
      ))}
    </ul>
  );
};

const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`;

/** Rows that a person should see, and the others behind their count. */
const Told = <Row,>({
  resource,
  rows,
  isTold,
  others,
}: Readonly<{
  resource: RowsOf<Row>;
  rows: readonly Row[];
  isTold: (row: Row) => boolean;
  others: (count: number) => string;
}>) => {
  const told = rows.filter(isTold);
  const rest = rows.filter((row) => !isTold(row));
  return (
    <>
      {told.length === 0 ? null : <Rows resource={resource} rows={told} />}
      {rest.length === 0 ? null : (
        <details className={styles['rest']}>
          <summary>{others(rest.length)}</summary>
          <Rows resource={{ ...resource, many: `${resource.many} without a fault` }} rows={rest} />
        </details>
      )}
    </>
  );
};

const Parts = ({ system }: Readonly<{ system: System }>) => {
  const isOne = system.processes.length === 1;
  const relays = partsOf(system, 'relays');
  const workers = partRows<Part<'workers'>>('Workers', isOne, [
    { name: 'Worker', cell: ({ name }) => name },
    { name: 'State', cell: ({ state }) => <Badge status={state} /> },
    { name: 'Parked work', cell: ({ stuckWork }) => stuckWork.toLocaleString(), isEnd: true },
    { name: 'Restarts', cell: ({ restarts }) => restarts.toLocaleString(), isEnd: true },
    { name: 'Last fault', cell: ({ lastFault }) => (lastFault === null ? '' : <code>{lastFault}</code>) },
  ]);
  const queues = partRows<Part<'processors'>>('Work on the bus', isOne, [
    { name: 'Processor', cell: ({ name }) => name },
    { name: 'Waiting or in flight', cell: ({ depth }) => depth.toLocaleString(), isEnd: true },
    {
      name: 'State',
      cell: ({ open }) => <StatusBadge status={open ? 'works' : 'pauses'} tone={open ? 'good' : 'warn'} />,
    },
  ]);
  const readModels = partRows<Part<'readModels'>>('Read models', isOne, [
    { name: 'Read model', cell: ({ name }) => name },
    {
      name: 'Lag',
      cell: ({ lagSeconds }) => (
        <StatusBadge
          status={secondsOf(lagSeconds)}
          tone={lagSeconds === 0 ? 'good' : lagSeconds < 10 ? 'busy' : 'warn'}
        />
      ),
    },
    { name: 'Position', cell: ({ position }) => position.toLocaleString(), isEnd: true },
  ]);
  return (
    <>
      <Section title="Relays">
        {relays.length === 0 ? (
          <p>No process here delivers mail.</p>
        ) : (
          <Rows
            resource={partRows<Part<'relays'>>('Relays', isOne, [
              { name: 'Relay', cell: ({ name }) => name },
              { name: 'Host', cell: ({ host }) => <code>{host}</code> },
              {
                name: 'State',
                cell: ({ breaker }) => <StatusBadge status={breakers[breaker][0]} tone={breakers[breaker][1]} />,
              },
              {
                name: 'Mails a second',
                cell: ({ ratePerSecond }) => ratePerSecond?.toLocaleString() ?? 'any number',
                isEnd: true,
              },
              { name: 'Left today', cell: ({ leftToday }) => leftToday?.toLocaleString() ?? 'any number', isEnd: true },
            ])}
            rows={relays}
          />
        )}
      </Section>
      <Section
        title="Workers"
        about="Parked work met a fault of the service and is tried again by itself. Its fault is in the error lines of the log."
      >
        <Told
          resource={workers}
          rows={partsOf(system, 'workers')}
          isTold={({ state, stuckWork }) => state !== 'running' || stuckWork > 0}
          others={(count) => `${counted(count, 'worker runs', 'workers run')} without parked work`}
        />
        <Told
          resource={queues}
          rows={partsOf(system, 'processors')}
          isTold={({ open, depth }) => !open || depth > 0}
          others={(count) => `${counted(count, 'processor has', 'processors have')} nothing to do`}
        />
      </Section>
      <Section title="Read models" about="Lists and searches read these. They follow the log.">
        <Told
          resource={readModels}
          rows={partsOf(system, 'readModels')}
          isTold={({ lagSeconds }) => lagSeconds > 0}
          others={(count) => `${counted(count, 'read model is', 'read models are')} up to date`}
        />
      </Section>
    </>
  );
};

const engineInWords = ({ engine }: System): string =>
  [
    `log ${engine.eventStore}`,
    `read models ${engine.readModels}`,
    `keys ${engine.keys}`,
    `files ${engine.files}`,
    `leases ${engine.leases}`,
    `bus ${engine.bus}`,
    `limiter ${engine.limiter}`,
  ].join(', ');

const GIBIBYTE = 1_073_741_824;

const roomOf = (bytes: number): string =>
  bytes < GIBIBYTE
    ? sizeOf(bytes)
    : `${(bytes / GIBIBYTE).toLocaleString(undefined, { maximumFractionDigits: 1 })} GiB`;

const LogFacts = ({ system }: Readonly<{ system: System }>) => {
  const { log, backups, diskFreeBytes } = system;
  return (
    <Facts
      facts={[
        [
          'Last seal',
          log.lastSeal === null ? (
            'none yet'
          ) : (
            <span key="seal">
              <Moment at={log.lastSeal.at} /> at position {log.lastSeal.position.toLocaleString()} of{' '}
              {log.head.toLocaleString()}
            </span>
          ),
        ],
        [
          'Last verify',
          log.lastVerify === null ? (
            <span key="verify">
              none known; <code>sealpost verify</code> checks the whole log
            </span>
          ) : (
            <span key="verify">
              <Badge status={log.lastVerify.result} /> <Moment at={log.lastVerify.at} />
            </span>
          ),
        ],
        ['Backup of the log', <Maybe key="log" at={backups.log?.at} otherwise="none by sealpost backup" />],
        [
          'Backup of the keys',
          backups.keys === null ? (
            'none by sealpost backup --keys'
          ) : (
            <span key="keys">
              <Moment at={backups.keys.at} />, expires <Moment at={backups.keys.expiresAt} />
            </span>
          ),
        ],
        ['Free on the disk', roomOf(diskFreeBytes)],
        ['Engine', engineInWords(system)],
      ]}
    />
  );
};

const SystemPage = ({ steps }: Readonly<{ steps: readonly string[] }>) => {
  const { scope } = usePlace();
  const isOperator = scope.me.operator;
  const system = useQuery({
    queryKey: ['system'],
    enabled: isOperator,
    queryFn: ({ signal }) => get({}, { signal }),
    refetchInterval: REFRESH_MS,
  });
  if (steps.length > 0) return <NothingHere title="System" />;
  if (!isOperator)
    return (
      <>
        <PageHead title="System" />
        <State title="You may not see this" isAlert>
          <p>
            This page is for operators of the instance. On its machine, <code>sealpost user operator ADDRESS</code>{' '}
            makes one.
          </p>
        </State>
      </>
    );
  const { data } = system;
  if (data === undefined)
    return (
      <>
        <PageHead title="System" />
        {system.error === null ? (
          <Loading label="Loading the state of the instance" />
        ) : (
          <Fault fault={system.error} retry={() => void system.refetch()} />
        )}
      </>
    );
  const needs = needsOf(data);
  return (
    <>
      <PageHead title="System" badge={<Badge status={worstOf(data)} />}>
        <span className={styles['asOf']}>
          As of <Moment at={data.asOf} />
        </span>
      </PageHead>
      {system.error === null ? null : (
        <div className={styles['stale']}>
          <Notice kind="fault">
            {system.error.message} What you see is older, and is read again every few seconds.
          </Notice>
        </div>
      )}
      <Section title="Needs a person">
        <NeedsList needs={needs} system={data} />
      </Section>
      <Section title="Processes">
        <Rows resource={processRows} rows={data.processes} />
      </Section>
      <Section title="Queue of all teams">
        <Rows resource={queueRows} rows={queueOf(data)} />
      </Section>
      <Parts system={data} />
      <Section title="Log, backups and disk">
        <LogFacts system={data} />
      </Section>
    </>
  );
};

export default SystemPage;
