/** The dry run with its report, the time, and the question before the send. */
import { useEffect, useMemo, useRef, useState } from 'react';
import { FieldRow } from '../../resources/form';
import { Facts, Section } from '../../resources/pages';
import { usePlace } from '../../resources/place';
import { Button, Notice, Spinner } from '../../ui/controls';
import { Dialog } from '../../ui/dialog';
import { download } from '../../ui/download';
import styles from './bulk.module.css';
import { callOf, dryRun, tagsOf, type Wanted } from './data';
import { type Draft, randomId, type Run } from './kept';
import type { Change } from './new';
import { type Answer, csvOfReport, type Entry, kinds, type Report, reportOf } from './report.js';
import { type Built, type BuiltRows, CALL_RECIPIENTS_MAX, partsOf } from './rows.js';

const ENTRIES_SHOWN = 100;

type Props = Readonly<{
  draft: Draft;
  change: Change;
  built: BuiltRows;
  templateName: string;
  begin: (run: Run) => Promise<boolean>;
}>;

/** In: a draft and its recipients. Out: the parts on which a dry run depends; others need another one. */
const checkedOf = ({ template, batchName: _, attachments, tags }: Draft, built: BuiltRows): readonly unknown[] => [
  template?.id,
  template?.version,
  attachments,
  tags,
  built,
];

export const CheckAndSend = ({ draft, change, built, templateName, begin }: Props) => {
  const { scope } = usePlace();
  const [checked, setChecked] = useState<Readonly<{ report: Report; of: readonly unknown[] }>>();
  const [said, setSaid] = useState<string>();
  const [fault, setFault] = useState<string>();
  const [isAsked, setIsAsked] = useState(false);
  const [leavesOut, setLeavesOut] = useState(true);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const parts = useMemo(() => partsOf(built.recipients), [built.recipients]);
  const now = checkedOf(draft, built);
  const report = checked?.of.every((one, at) => one === now[at]) === true ? checked.report : undefined;
  const check = async (): Promise<void> => {
    running.current?.abort();
    const end = new AbortController();
    running.current = end;
    setFault(undefined);
    setChecked(undefined);
    const answers: { recipients: readonly Built[]; answer: Answer }[] = [];
    const wanted: Wanted = { draft, base: built.base, parts };
    try {
      for (const [place, recipients] of parts.entries()) {
        const step = parts.length === 1 ? 'Checking every mail.' : `Checking part ${place + 1} of ${parts.length}.`;
        setSaid(step);
        const waiting = {
          teamId: scope.teamId,
          signal: end.signal,
          say: (text: string) => setSaid(`${step} ${text}`),
        };
        answers.push({ recipients, answer: await dryRun(callOf(wanted, place, undefined), waiting) });
      }
      setChecked({ report: reportOf(answers, built.leftOut), of: now });
    } catch (error) {
      if (!end.signal.aborted) setFault(error instanceof Error ? error.message : String(error));
    }
    if (!end.signal.aborted) setSaid(undefined);
  };
  const failing = report?.failing.length ?? 0;
  const count = (report?.emails ?? built.recipients.length) - (leavesOut ? failing : 0);
  const emails = `${count.toLocaleString()} ${count === 1 ? 'email' : 'emails'}`;
  const scheduledAt = draft.when === 'later' && draft.at !== '' ? new Date(draft.at) : undefined;
  const isTimeless = draft.when === 'later' && (scheduledAt === undefined || Number.isNaN(scheduledAt.getTime()));
  const send = async (): Promise<void> => {
    setIsAsked(false);
    const run: Run = {
      id: randomId(),
      skipped: leavesOut ? (report?.failing ?? []) : [],
      done: [],
      ...(scheduledAt === undefined ? {} : { scheduledAt: scheduledAt.toISOString() }),
    };
    if (!(await begin(run)))
      setFault('This file is sent, or was given up, in another tab. Begin anew with the file to send it once more.');
  };
  const isReady = built.recipients.length > 0 && built.baseFaults.length === 0;
  return (
    <>
      <Section
        title="Check"
        about="The dry run makes every mail without sending it: what it costs, who would not be written to, and why."
        buttons={
          <>
            {report === undefined ? null : (
              <Button onPress={() => download(new Blob([csvOfReport(report)], { type: 'text/csv' }), 'dry-run.csv')}>
                Download the report
              </Button>
            )}
            <Button
              look={report === undefined ? 'main' : 'plain'}
              isPending={said !== undefined}
              isDisabled={!isReady}
              onPress={() => void check()}
            >
              {report === undefined ? 'Check every mail' : 'Check again'}
            </Button>
          </>
        }
      >
        {parts.length > 1 ? (
          <Notice kind="note">
            One call takes {CALL_RECIPIENTS_MAX.toLocaleString()} recipients, so this file makes {parts.length} bulk
            sends, one after another. The service takes five calls a minute.
          </Notice>
        ) : null}
        {said === undefined ? null : (
          <p className={styles['waiting']} role="status">
            <Spinner label="Checking" /> {said}
          </p>
        )}
        {fault === undefined ? null : <Notice kind="fault">{fault}</Notice>}
        {report === undefined ? null : <ReportView report={report} />}
      </Section>
      <Section title="Send">
        <div className={styles['fields']}>
          <FieldRow
            field={{
              name: 'when',
              label: 'When',
              kind: 'select',
              choices: [
                { value: 'now', label: 'now' },
                { value: 'later', label: 'at a time' },
              ],
            }}
            value={draft.when}
            onChange={(value) => change({ when: value === 'later' ? 'later' : 'now' })}
          />
          {draft.when === 'later' ? (
            <FieldRow
              field={{
                name: 'at',
                label: 'Time',
                kind: 'moment',
                isRequired: true,
                hint: `In ${zone}${scheduledAt === undefined || isTimeless ? '' : `: ${scheduledAt.toISOString()} UTC`}`,
              }}
              value={draft.at}
              onChange={(value) => change({ at: String(value) })}
            />
          ) : null}
        </div>
        {failing === 0 ? null : (
          <FieldRow
            field={{
              name: 'leavesOut',
              label: `Leave out the ${failing.toLocaleString()} ${failing === 1 ? 'row' : 'rows'} whose email would fail`,
              kind: 'switch',
              hint: 'Else each of these emails is recorded as failed, and costs one credit',
            }}
            value={leavesOut}
            onChange={(value) => setLeavesOut(value === true)}
          />
        )}
        <div className={styles['facts']}>
          <Button
            look="main"
            isDisabled={report === undefined || count < 1 || isTimeless || !isReady}
            onPress={() => setIsAsked(true)}
          >
            {draft.when === 'later' ? `Schedule ${emails}` : `Send ${emails}`}
          </Button>
          {report === undefined ? <span className={styles['soft']}>Check every mail first.</span> : null}
        </div>
        <Dialog
          title={draft.when === 'later' ? `Schedule ${emails}?` : `Send ${emails}?`}
          isOpen={isAsked}
          onClose={() => setIsAsked(false)}
          acts={
            <>
              <Button onPress={() => setIsAsked(false)}>Not yet</Button>
              <Button look="main" onPress={() => void send()}>
                {draft.when === 'later' ? 'Schedule' : 'Send'}
              </Button>
            </>
          }
        >
          <Facts
            facts={[
              ['Template', `${templateName}, version ${draft.template?.version}`],
              ['File', draft.file?.name ?? ''],
              ['Leave', scheduledAt === undefined ? 'now' : `${scheduledAt.toLocaleString()} (${zone})`],
              report === undefined ? undefined : ['Credits', report.cost.toLocaleString()],
              draft.tags === '' ? undefined : ['Tags', tagsOf(draft.tags).join(', ')],
              built.leftOut.length === 0
                ? undefined
                : ['Left out', `${built.leftOut.length.toLocaleString()} rows of the file`],
            ]}
          />
        </Dialog>
      </Section>
    </>
  );
};

/** The zone of the reader, with its distance from UTC. */
const zone = ((): string => {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const minutes = -new Date().getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  const distance = `UTC${minutes < 0 ? '−' : '+'}${hours}${rest === 0 ? '' : `:${String(rest).padStart(2, '0')}`}`;
  return timeZone === 'UTC' ? 'UTC' : `${timeZone} (${distance})`;
})();

const countsOf = (entries: readonly Entry[]): readonly (readonly [Entry['kind'], number])[] =>
  (Object.keys(kinds) as Entry['kind'][]).flatMap((kind) => {
    const lines = new Set(entries.filter((entry) => entry.kind === kind).map(({ line }) => line));
    return lines.size === 0 ? [] : [[kind, lines.size] as const];
  });

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const ReportView = ({ report }: Readonly<{ report: Report }>) => {
  const [kind, setKind] = useState('');
  const counts = countsOf(report.entries);
  const shown = report.entries.filter((entry) => kind === '' || entry.kind === kind);
  const { quota, breakdown } = report;
  return (
    <>
      <Facts
        facts={[
          ['Emails', report.emails.toLocaleString()],
          [
            'Credits',
            `${report.cost.toLocaleString()}${breakdown.attachments === 0 ? '' : ` (${breakdown.emails.toLocaleString()} emails, ${breakdown.attachments.toLocaleString()} documents)`}${quota === undefined || quota.remaining === null ? '' : `; ${quota.remaining.toLocaleString()} emails are left this month`}`,
          ],
          ...counts.map(([one, lines]) => [capital(kinds[one]), lines.toLocaleString()] as const),
        ]}
      />
      {report.isValid && report.entries.length === 0 ? <Notice kind="note">Every row can be sent to.</Notice> : null}
      {report.general.length === 0 ? null : (
        <Notice kind={report.isValid ? 'note' : 'fault'}>
          {report.general.slice(0, ENTRIES_SHOWN).map((text) => (
            <p key={text}>{text}</p>
          ))}
        </Notice>
      )}
      {report.entries.length === 0 ? null : (
        <>
          {counts.length < 2 ? null : (
            <div className={styles['fields']}>
              <FieldRow
                field={{
                  name: 'kind',
                  label: 'Show',
                  kind: 'select',
                  choices: [{ value: '', label: 'all' }, ...counts.map(([one]) => ({ value: one, label: kinds[one] }))],
                }}
                value={kind}
                onChange={(value) => setKind(String(value))}
              />
            </div>
          )}
          <div className={styles['scroll']} tabIndex={0} role="region" aria-label="What the dry run found">
            <table className={styles['rows']} aria-label="What the dry run found">
              <thead>
                <tr>
                  <th scope="col">Line</th>
                  <th scope="col">Address</th>
                  <th scope="col">What</th>
                  <th scope="col">Reason</th>
                </tr>
              </thead>
              <tbody>
                {shown.slice(0, ENTRIES_SHOWN).map(({ line, email, kind: what, message }, place) => (
                  <tr key={place}>
                    <td>{line}</td>
                    <th scope="row">
                      <bdi>{email}</bdi>
                    </th>
                    <td>{kinds[what]}</td>
                    <td className={styles['reason']}>
                      <bdi>{message}</bdi>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {shown.length > ENTRIES_SHOWN ? (
            <p className={styles['soft']}>
              {ENTRIES_SHOWN} of {shown.length.toLocaleString()}; the download has all.
            </p>
          ) : null}
        </>
      )}
    </>
  );
};
