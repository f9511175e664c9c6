/** The outcome for each recipient of a bulk send; read when the reader asks for it, for each reading is audited. */
import { useState } from 'react';
import type { GetBatchResultsData, GetBatchStatusResponse } from '#api';
import { ApiFault, readFile } from '../../api/client';
import { FieldRow } from '../../resources/form';
import { Section } from '../../resources/pages';
import type { Scope } from '../../resources/resource';
import { Button, Notice, TextLink } from '../../ui/controls';
import { StatusBadge } from '../../ui/status';
import { Moment } from '../../ui/time';
import styles from './bulk.module.css';

/** A line of the results of the API. */
type Result = Readonly<{
  place: number;
  email: string | null;
  status: string;
  emailId: string | null;
  error: string | null;
  reply: string | null;
  sentAt: string | null;
  deliveredAt: string | null;
  line: number | null;
}>;

const STEP = 100;

export const Results = ({ row, scope }: Readonly<{ row: GetBatchStatusResponse; scope: Scope }>) => {
  const [results, setResults] = useState<readonly Result[]>();
  const [isBusy, setIsBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const [status, setStatus] = useState('');
  const [count, setCount] = useState(STEP);
  const read = async (): Promise<void> => {
    setIsBusy(true);
    setFault(undefined);
    try {
      const data = {
        url: '/api/emails/batch/{batchId}/results',
        path: { batchId: row.batchId },
        query: { format: 'jsonl' },
      } as const satisfies GetBatchResultsData;
      const text = await (await readFile(data, { teamId: scope.teamId })).text();
      setResults(text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Result])));
    } catch (error) {
      setFault(error instanceof ApiFault ? error.message : 'The results could not be read.');
    }
    setIsBusy(false);
  };
  const statuses = [...new Set(results?.map((result) => result.status))].sort();
  const shown = results?.filter((result) => status === '' || result.status === status) ?? [];
  const hasLines = shown.some(({ line }) => line !== null);
  return (
    <Section
      title="Recipients"
      about={results === undefined ? 'What became of the email to each of them.' : undefined}
      buttons={
        <Button isPending={isBusy} onPress={() => void read()}>
          {results === undefined ? 'Show the result of each' : 'Read again'}
        </Button>
      }
    >
      {fault === undefined ? null : <Notice kind="fault">{fault}</Notice>}
      {results === undefined ? null : (
        <>
          <div className={styles['fields']}>
            <FieldRow
              field={{
                name: 'status',
                label: 'Status',
                kind: 'select',
                choices: [
                  { value: '', label: `any (${results.length.toLocaleString()})` },
                  ...statuses.map((one) => ({
                    value: one,
                    label: `${one} (${results.filter((result) => result.status === one).length.toLocaleString()})`,
                  })),
                ],
              }}
              value={status}
              onChange={(value) => {
                setStatus(String(value));
                setCount(STEP);
              }}
            />
          </div>
          <div className={styles['scroll']} tabIndex={0} role="region" aria-label="Result of each recipient">
            <table className={styles['rows']} aria-label="Recipients">
              <thead>
                <tr>
                  <th scope="col">{hasLines ? 'Line' : 'Place'}</th>
                  <th scope="col">Address</th>
                  <th scope="col">Status</th>
                  <th scope="col">Why, or what the host answered</th>
                  <th scope="col">Sent</th>
                </tr>
              </thead>
              <tbody>
                {shown.slice(0, count).map(({ place, line, email, status: one, emailId, error, reply, sentAt }) => (
                  <tr key={place}>
                    <td>{hasLines ? (line ?? '') : place}</td>
                    <th scope="row">
                      {emailId === null ? (
                        <bdi>{email ?? 'not kept'}</bdi>
                      ) : (
                        <TextLink href={`/emails/${emailId}`}>
                          <bdi>{email ?? 'erased'}</bdi>
                        </TextLink>
                      )}
                    </th>
                    <td>
                      <StatusBadge status={one} />
                    </td>
                    <td className={styles['reason']}>
                      <bdi>{[error, reply].filter((text) => text !== null && text !== '').join(': ')}</bdi>
                    </td>
                    <td>{sentAt === null ? '' : <Moment at={sentAt} />}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {shown.length > count ? (
            <div className={styles['facts']}>
              <span className={styles['soft']}>
                {count.toLocaleString()} of {shown.length.toLocaleString()}
              </span>
              <Button onPress={() => setCount(count + STEP)}>Show more</Button>
            </div>
          ) : null}
        </>
      )}
    </Section>
  );
};
