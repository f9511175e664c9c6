/** The calls of a send, one after another: what was accepted, what is under way, and how it goes on after a fault. */
import { useEffect, useMemo, useRef, useState } from 'react';
import { Section, useAgain } from '../../resources/pages';
import { usePlace } from '../../resources/place';
import { Button, Notice, Spinner, TextLink } from '../../ui/controls';
import styles from './bulk.module.css';
import { callOf, sendPart } from './data';
import type { Draft, keptOf, Run } from './kept';
import { type BuiltRows, partsOf } from './rows.js';

type Props = Readonly<{
  draft: Draft;
  run: Run;
  built: BuiltRows;
  kept: ReturnType<typeof keptOf>;
  startOver: () => void;
}>;

export const Sending = ({ draft, run: first, built, kept, startOver }: Props) => {
  const { scope, tell } = usePlace();
  const again = useAgain();
  const [run, setRun] = useState(first);
  const [said, setSaid] = useState<string>();
  const [fault, setFault] = useState<string>();
  const sending = useRef<AbortController>(undefined);
  const parts = useMemo(() => {
    const skipped = new Set(first.skipped);
    return partsOf(built.recipients.filter(({ line }) => !skipped.has(line)));
  }, [built.recipients, first.skipped]);

  const send = async (): Promise<void> => {
    if (sending.current?.signal.aborted === false) return;
    const end = new AbortController();
    sending.current = end;
    setFault(undefined);
    let now = run;
    try {
      while (now.done.length < parts.length) {
        const place = now.done.length;
        const step =
          parts.length === 1 ? 'Handing over the recipients.' : `Handing over part ${place + 1} of ${parts.length}.`;
        setSaid(step);
        const { batchId, totalEmails } = await sendPart(
          callOf({ draft, base: built.base, parts }, place, now.scheduledAt),
          now,
          place,
          { teamId: scope.teamId, signal: end.signal, say: (text) => setSaid(`${step} ${text}`) },
        );
        now = { ...now, done: [...now.done, { batchId, totalEmails }] };
        // Before the next call, so that a page that is closed between them goes on where it was.
        await kept.keep({ ...draft, run: now });
        if (end.signal.aborted) return;
        setRun(now);
      }
    } catch (error) {
      if (end.signal.aborted) return;
      setFault(error instanceof Error ? error.message : String(error));
      setSaid(undefined);
      sending.current = undefined;
      return;
    }
    await kept.drop();
    void again();
    const emails = now.done.reduce((sum, { totalEmails }) => sum + totalEmails, 0);
    const [only] = now.done;
    tell({
      say: `${emails.toLocaleString()} ${emails === 1 ? 'email is' : 'emails are'} ${now.scheduledAt === undefined ? 'queued' : 'scheduled'}${now.done.length === 1 ? '' : ` in ${now.done.length} bulk sends`}.`,
      open: now.done.length === 1 && only !== undefined ? `/batches/${only.batchId}` : '/batches',
    });
  };
  useEffect(() => {
    // One that a reload or a fault has interrupted waits until the reader wants it.
    if (first.done.length === 0 && isFresh(first)) void send();
    return () => {
      sending.current?.abort();
      sending.current = undefined;
    };
    // It runs once, when the page is shown.
  }, []);
  return (
    <Section title="Send">
      {run.done.length === 0 ? null : (
        <ul className={styles['done']} aria-label="What was accepted">
          {run.done.map(({ batchId, totalEmails }, place) => (
            <li key={batchId}>
              <TextLink href={`/batches/${batchId}`}>Part {place + 1}</TextLink>: {totalEmails.toLocaleString()} emails
            </li>
          ))}
        </ul>
      )}
      {said === undefined ? (
        <>
          {fault === undefined ? (
            <Notice kind="note">
              This send was interrupted. {run.done.length} of {parts.length} {parts.length === 1 ? 'part' : 'parts'}{' '}
              {run.done.length === 1 ? 'is' : 'are'} known to be accepted. Going on sends nothing twice.
            </Notice>
          ) : (
            <Notice kind="fault">{fault}</Notice>
          )}
          <div className={styles['facts']}>
            <Button look="main" onPress={() => void send()}>
              Go on
            </Button>
            <Button onPress={startOver}>Give up the rest</Button>
          </div>
        </>
      ) : (
        <p className={styles['waiting']} role="status">
          <Spinner label="Sending" /> {said}
        </p>
      )}
    </Section>
  );
};

/** Runs that were begun in this page, not found in the browser. */
const begun = new Set<string>();
export const noteBegun = (id: string): void => void begun.add(id);
const isFresh = ({ id }: Run): boolean => begun.has(id);
