/** The first recipients, the rows that are left out, and the mail of any recipient, made by the service. */
import { useEffect, useState } from 'react';
import { usePlace } from '../../resources/place';
import { Section } from '../../resources/pages';
import { MailFrame } from '../../templates/frame';
import { Button, Notice, Spinner } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { download } from '../../ui/download';
import styles from './bulk.module.css';
import { csvOf } from './csv.js';
import { usePreview } from './data';
import type { Draft } from './kept';
import type { BuiltRows, LeftOut, Mapping, Target } from './rows.js';

const ROWS_SHOWN = 8;
const LEFT_OUT_SHOWN = 10;
const PREVIEW_AFTER_MS = 350;

type Props = Readonly<{
  draft: Draft;
  targets: readonly Target[];
  mapping: Mapping;
  built: BuiltRows;
  file: string;
}>;

export const RowsAndMail = ({ draft, targets, mapping, built, file }: Props) => {
  const [place, setPlace] = useState(0);
  const { recipients, leftOut } = built;
  const at = Math.min(place, Math.max(0, recipients.length - 1));
  const shown = targets.filter(({ key, path }) => {
    const source = mapping[key];
    return path !== undefined && source !== undefined && 'column' in source;
  });
  const from = Math.max(0, Math.min(at - ROWS_SHOWN + 1, recipients.length - ROWS_SHOWN));
  return (
    <>
      <Section title="Rows">
        {recipients.length === 0 ? (
          <Notice kind="fault">No row can be sent to. The column for the address may be another one.</Notice>
        ) : (
          <>
            <div className={styles['scroll']} tabIndex={0} role="region" aria-label="The first recipients">
              <table className={styles['rows']} aria-label="Recipients">
                <thead>
                  <tr>
                    <th scope="col">Line</th>
                    <th scope="col">Address</th>
                    <th scope="col">Name</th>
                    {shown.map(({ key, label }) => (
                      <th key={key} scope="col">
                        {label}
                      </th>
                    ))}
                    <th scope="col">
                      <span className={styles['unseen']}>Mail</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {recipients.slice(from, from + ROWS_SHOWN).map(({ line, recipient }, offset) => (
                    <tr key={line} className={cx(from + offset === at && styles['chosen'])}>
                      <td>{line}</td>
                      <th scope="row">
                        <bdi>{recipient.email}</bdi>
                      </th>
                      <td>
                        <bdi>{recipient.name ?? ''}</bdi>
                      </td>
                      {shown.map(({ key, path = [] }) => (
                        <td key={key}>
                          <bdi>{shownValue(path, recipient.variables)}</bdi>
                        </td>
                      ))}
                      <td>
                        <Button
                          isSmall
                          look="quiet"
                          aria-label={`Show the mail to ${recipient.email}`}
                          onPress={() => setPlace(from + offset)}
                        >
                          Show
                        </Button>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <p className={styles['soft']}>
              {recipients.length.toLocaleString()} {recipients.length === 1 ? 'recipient' : 'recipients'}
              {recipients.length > ROWS_SHOWN ? `, ${ROWS_SHOWN} of them above` : ''}.
            </p>
          </>
        )}
        <LeftOutRows leftOut={leftOut} file={file} />
      </Section>
      {recipients.length === 0 ? null : (
        <Mail draft={draft} built={built} at={at} setPlace={setPlace} count={recipients.length} />
      )}
    </>
  );
};

const VALUE_CHARS = 60;

const shownValue = (path: readonly string[], variables: unknown): string => {
  let value: unknown = variables;
  for (const name of path)
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Record<string, unknown>)[name]
        : undefined;
  if (value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS)}…` : text;
};

const LeftOutRows = ({ leftOut, file }: Readonly<{ leftOut: readonly LeftOut[]; file: string }>) => {
  if (leftOut.length === 0) return null;
  return (
    <div className={styles['leftOut']}>
      <div className={styles['facts']}>
        <strong>
          {leftOut.length.toLocaleString()} {leftOut.length === 1 ? 'row is' : 'rows are'} left out
        </strong>
        <Button
          isSmall
          onPress={() =>
            download(
              new Blob(
                [
                  csvOf(
                    ['line', 'email', 'column', 'reason'],
                    leftOut.map(({ line, email, column, message }) => [line, email, column, message]),
                  ),
                ],
                { type: 'text/csv' },
              ),
              `left-out-of-${file.replace(/\.\w+$/, '')}.csv`,
            )
          }
        >
          Download them
        </Button>
      </div>
      <ul aria-label="Rows that are left out">
        {leftOut.slice(0, LEFT_OUT_SHOWN).map(({ line, email, column, message }) => (
          <li key={line}>
            Line {line}
            {email === '' ? '' : ', '}
            <bdi>{email}</bdi>
            {column === '' ? '' : ', '}
            <bdi>{column}</bdi>: {message}
          </li>
        ))}
        {leftOut.length > LEFT_OUT_SHOWN ? (
          <li>and {(leftOut.length - LEFT_OUT_SHOWN).toLocaleString()} more</li>
        ) : null}
      </ul>
    </div>
  );
};

/** The value as it is once it has stayed for a moment. */
const useSettled = <Value,>(value: Value, key: string): Value => {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PREVIEW_AFTER_MS);
    return () => clearTimeout(timer);
    // Equal values have equal keys.
  }, [key]);
  return settled;
};

type MailProps = Readonly<{
  draft: Draft;
  built: BuiltRows;
  at: number;
  count: number;
  setPlace: (place: number) => void;
}>;

const Mail = ({ draft, built, at, count, setPlace }: MailProps) => {
  const { scope } = usePlace();
  const asked = { recipient: built.recipients[at]?.recipient, base: built.base };
  const settled = useSettled(asked, JSON.stringify(asked));
  const preview = usePreview(scope.teamId, draft.template, settled.recipient, settled.base);
  const line = built.recipients[at]?.line ?? 0;
  /** In: a line as it was typed. The first recipient that begins in it or behind it is shown. */
  const turnTo = (typed: string): void => {
    const found = built.recipients.findIndex((one) => one.line >= Number(typed));
    setPlace(found === -1 ? count - 1 : found);
  };
  return (
    <Section
      title="The mail"
      about="Made by the service as it will be sent, without what is added at the delivery."
      buttons={
        <div className={styles['turn']}>
          <Button isSmall isDisabled={at === 0} onPress={() => setPlace(at - 1)}>
            Before
          </Button>
          <label>
            Line{' '}
            <input
              key={line}
              type="number"
              aria-label="Line of the file"
              min={1}
              defaultValue={line}
              onBlur={({ target }) => turnTo(target.value)}
              onKeyDown={({ key, currentTarget }) => {
                if (key === 'Enter') turnTo(currentTarget.value);
              }}
            />
          </label>
          <Button isSmall isDisabled={at >= count - 1} onPress={() => setPlace(at + 1)}>
            Next
          </Button>
        </div>
      }
    >
      <div className={styles['mail']} aria-busy={preview.isFetching}>
        <dl className={styles['mailHead']}>
          <div>
            <dt>To</dt>
            <dd>
              <bdi>{settled.recipient?.email ?? ''}</bdi>
            </dd>
          </div>
          <div>
            <dt>Subject</dt>
            <dd>{preview.data === undefined ? '' : <bdi>{preview.data.subject}</bdi>}</dd>
          </div>
        </dl>
        {preview.error !== null ? (
          <div className={styles['inset']}>
            <Notice kind="fault">This mail cannot be made: {preview.error.message}</Notice>
          </div>
        ) : preview.data === undefined ? (
          <div className={styles['waiting']}>
            <Spinner label="Making the mail" />
          </div>
        ) : (
          <>
            {preview.data.emptyPaths.length === 0 ? null : (
              <p className={styles['told']}>
                Without a value: <bdi>{preview.data.emptyPaths.join(', ')}</bdi>
              </p>
            )}
            <MailFrame
              html={preview.data.html}
              title={`Mail to ${settled.recipient?.email ?? ''}`}
              scheme="light"
              pictures={false}
              className={styles['frame'] ?? ''}
            />
          </>
        )}
      </div>
    </Section>
  );
};
