/**
 * The mail itself: as it looks, its text, headers, source, variables and attachments. Pages of mails that have not left
 * use its parts.
 */
import { type ReactNode, useEffect, useState } from 'react';
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components';
import type { GetEmailAttachmentData, GetEmailSourceData, ShowEmailData } from '#api';
import { addressOf, ApiFault, readFile } from '../../api/client';
import { useTeam } from '../../api/team';
import { shownBytes } from '../../ui/bytes';
import { Button, Notice } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { download } from '../../ui/download';
import { Fault, Loading, State } from '../../ui/states';
import { Tabs, type TabOf } from '../../ui/tabs';
import { Moment } from '../../ui/time';
import { useIsPhone } from '../../ui/width';
import { type Content, type Email, useContent } from './data';
import styles from './email.module.css';
import type { Sheet } from './sheet';

export const Mail = ({ email }: Readonly<{ email: Email }>) => {
  const team = useTeam();
  const [recipient, setRecipient] = useState<number>();
  const mayRead = team.permissions.includes('emails:content');
  const isShown = mayRead && !email.archived && email.confidential !== true;
  const content = useContent(team.id, email.id, recipient, isShown);
  const hidden = whyHidden(email, mayRead) ?? goneOf(content.error);
  const part = (show: (content: Content) => ReactNode): ReactNode => {
    if (hidden !== undefined) return hidden;
    if (content.error !== null) return <Fault fault={content.error} retry={() => void content.refetch()} />;
    return content.data === undefined ? <Loading label="Loading the mail" /> : show(content.data);
  };
  const mail = { teamId: team.id, email, recipient };
  const tabs: TabOf[] = [
    {
      id: 'mail',
      title: 'Mail',
      content: part((shown) => <Look {...mail} content={shown} onRecipient={setRecipient} />),
    },
    { id: 'text', title: 'Text', content: part(({ text }) => <Text text={text} none="This mail has no text part." />) },
    { id: 'headers', title: 'Headers', content: part(({ headers }) => <Headers headers={headers} />) },
    { id: 'source', title: 'Source', content: part(() => <Source {...mail} />) },
    { id: 'variables', title: 'Variables', content: <Variables email={email} /> },
    {
      id: 'attachments',
      title: 'Attachments',
      count: email.attachmentCount,
      content: part((shown) => <Attachments {...mail} content={shown} />),
    },
  ];
  return (
    <section className={styles['mail']} aria-label="The mail">
      <Tabs label="The mail" tabs={tabs} />
    </section>
  );
};

/** Why the mail is not asked for; undefined: it is. */
const whyHidden = (email: Email, mayRead: boolean): ReactNode => {
  if (email.archived)
    return (
      <State title="The mail is forgotten">
        <p>
          sealpost destroyed its addresses, subject, content, values and attachments
          {email.archivedAt === null ? null : (
            <>
              {' '}
              on <Moment at={email.archivedAt} />
            </>
          )}
          . What happened to it stays.
        </p>
      </State>
    );
  if (email.confidential === true)
    return (
      <State title="Only its recipient sees this mail">
        <p>It contains a link or code that signs somebody in.</p>
      </State>
    );
  if (!mayRead)
    return (
      <State title="Your role does not show mails">
        <p>Members, admins and owners of the team can read what was written. You see what happened to it.</p>
      </State>
    );
  return undefined;
};

const goneOf = (fault: Error | null): ReactNode =>
  fault instanceof ApiFault && fault.code === 'CONTENT_GONE' ? (
    <State title="The mail is gone">
      <p>{fault.message}</p>
    </State>
  ) : undefined;

type MailProps = Readonly<{ teamId: string; email: Email; recipient: number | undefined }>;

const REMOTE = /(?:\b(?:src|srcset|background|poster)\s*=\s*["']?\s*|url\(\s{0,9}["']?)(?:https?:)?\/\//i;

const Look = ({
  teamId,
  email: { id, subject, recipients },
  recipient,
  content,
  onRecipient,
}: MailProps & Readonly<{ content: Content; onRecipient: (recipient: number) => void }>) => (
  <MailLook
    content={content}
    subject={subject ?? ''}
    below="Looking at it counts no open. A link asks before it leads to its address."
    addressIn={(look) => {
      const page: InFrame<ShowEmailData> = {
        url: '/api/emails/{id}/page',
        path: { id },
        query: { team: teamId, ...look, ...copyQuery(recipient) },
      };
      return addressOf(page);
    }}
  >
    {content.recipient === null || recipients.length < 2 ? null : (
      <label className={styles['copy']}>
        Copy of{' '}
        <select value={content.recipient} onChange={({ target }) => onRecipient(Number(target.value))}>
          {recipients.map(({ email: address, erased }, place) => (
            <option key={place} value={place} disabled={erased === true}>
              {address ?? 'erased'}
            </option>
          ))}
        </select>
      </label>
    )}
  </MailLook>
);

/** A frame sends no header, so its address names the team. */
export type InFrame<Data extends Readonly<{ query?: object }>> = Omit<Data, 'query'> & {
  query: NonNullable<Data['query']> & { team: string };
};

type MailLookProps = Readonly<{
  content: Pick<Content, 'html' | 'text'>;
  subject: string;
  /** Out: the address of the page of the mail. */
  addressIn: (look: Readonly<{ scheme: 'light' | 'dark'; pictures?: true }>) => string;
  below: string;
  /** Further tools. */
  children?: ReactNode;
}>;

/** The mail in a frame in which nothing runs; the service takes out of it what would load or lead elsewhere. */
export const MailLook = ({ content, subject, addressIn, below, children }: MailLookProps) => {
  const [width, setWidth] = useState<'desktop' | 'phone'>('desktop');
  const [scheme, setScheme] = useState<'light' | 'dark'>('light');
  const isPhone = useIsPhone();
  const [pictures, setPictures] = useState(false);
  if (content.html === '')
    return <Text text={content.text} none="This mail has neither HTML nor text." note="This mail has text alone." />;
  return (
    <>
      <div className={styles['tools']}>
        {isPhone ? null : (
          <Choice label="Width" value={width} options={{ desktop: 'Desktop', phone: 'Phone' }} onChange={setWidth} />
        )}
        <Choice label="Colours" value={scheme} options={{ light: 'Light', dark: 'Dark' }} onChange={setScheme} />
        {children}
        {REMOTE.test(content.html) ? (
          <Button isSmall onPress={() => setPictures(!pictures)}>
            {pictures ? 'Hide remote pictures' : 'Load remote pictures'}
          </Button>
        ) : null}
      </div>
      <div className={cx(styles['ground'], width === 'phone' && styles['phone'])}>
        <iframe
          title={`Mail: ${subject}`}
          className={cx(styles['frame'], scheme === 'dark' && styles['dark'])}
          sandbox="allow-popups allow-popups-to-escape-sandbox"
          referrerPolicy="no-referrer"
          src={addressIn({ scheme, ...(pictures ? { pictures } : {}) })}
        />
      </div>
      <p className={styles['below']}>{below}</p>
    </>
  );
};

const Choice = <Value extends string>({
  label,
  value,
  options,
  onChange,
}: Readonly<{
  label: string;
  value: Value;
  options: Readonly<Record<Value, string>>;
  onChange: (value: Value) => void;
}>) => (
  <ToggleButtonGroup
    aria-label={label}
    className={cx(styles['choice'])}
    selectionMode="single"
    disallowEmptySelection
    selectedKeys={[value]}
    onSelectionChange={(keys) => {
      const chosen = (Object.keys(options) as Value[]).find((one) => keys.has(one));
      if (chosen !== undefined) onChange(chosen);
    }}
  >
    {(Object.entries(options) as [Value, string][]).map(([id, title]) => (
      <ToggleButton key={id} id={id} className={cx(styles['toggle'])}>
        {title}
      </ToggleButton>
    ))}
  </ToggleButtonGroup>
);

/** Longer texts are cut, because a browser lays them out for seconds. */
const SHOWN_CHARS_MAX = 200_000;

export const Text = ({ text, none, note }: Readonly<{ text: string; none: string; note?: string }>) =>
  text === '' ? (
    <State title={none} />
  ) : (
    <>
      {note === undefined ? null : <p className={styles['below']}>{note}</p>}
      <pre className={styles['text']} dir="auto" tabIndex={0}>
        {text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text}
      </pre>
    </>
  );

export const Headers = ({ headers }: Readonly<{ headers: Content['headers'] }>) => (
  <div className={styles['scroll']} tabIndex={0} role="region" aria-label="Headers">
    <table className={styles['headers']}>
      <tbody>
        {headers.map(({ name, value }, place) => (
          <tr key={place}>
            <th scope="row">{name}</th>
            <td>
              <bdi>{value}</bdi>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const copyQuery = (recipient: number | undefined) => (recipient === undefined ? {} : { recipient });

/** The reader of spreadsheets is loaded with the first one. */
const isUnreadable = (error: unknown): error is Error => error instanceof Error && error.name === 'SheetUnreadable';

/** An act that reads a file: whether it runs, and its fault in words. */
const useReading = () => {
  const [isBusy, setIsBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const run = async (read: () => Promise<void>): Promise<void> => {
    setIsBusy(true);
    setFault(undefined);
    try {
      await read();
    } catch (error) {
      setFault(error instanceof ApiFault || isUnreadable(error) ? error.message : 'The file could not be read.');
    }
    setIsBusy(false);
  };
  return { isBusy, fault, run };
};

const Source = ({ teamId, email: { id }, recipient }: MailProps) => {
  const { isBusy, fault, run } = useReading();
  const [source, setSource] = useState<string>();
  const data: GetEmailSourceData = { url: '/api/emails/{id}/source', path: { id }, query: copyQuery(recipient) };
  return (
    <div className={styles['stack']}>
      <p>The whole message (RFC 5322), with its files, as it left but for tracking and DKIM signatures.</p>
      <div className={styles['row']}>
        <Button
          isPending={isBusy}
          onPress={() => void run(async () => download(await readFile(data, { teamId }), `${id}.eml`))}
        >
          Download .eml
        </Button>
        <Button
          isPending={isBusy}
          onPress={() => void run(async () => setSource(await (await readFile(data, { teamId })).text()))}
        >
          Show it
        </Button>
      </div>
      {fault === undefined ? null : <Notice kind="fault">{fault}</Notice>}
      {source === undefined ? null : <Text text={source} none="The message is empty." />}
    </div>
  );
};

const Variables = ({ email: { archived, confidential, metadata } }: Readonly<{ email: Email }>) => {
  const { variables, custom, warnings = [] } = metadata;
  if (archived) return <State title="The values are forgotten" />;
  if (confidential === true) return <State title="The values of this mail are shown to nobody" />;
  const isEmpty = (values: object): boolean => Object.keys(values).length === 0;
  if (isEmpty(variables) && isEmpty(custom)) return <State title="The call gave no variables" />;
  return (
    <div className={styles['stack']}>
      {warnings.length === 0 ? null : (
        <Notice kind="note">
          <p>The mail lost values:</p>
          <ul className={styles['warnings']}>
            {warnings.map(({ path, message }, place) => (
              <li key={place}>
                <code>{path}</code> {message}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {isEmpty(variables) ? null : <Values title="Variables" values={variables} />}
      {isEmpty(custom) ? null : <Values title="Metadata of the call" values={custom} />}
    </div>
  );
};

export const Values = ({ title, values }: Readonly<{ title: string; values: object }>) => (
  <section>
    <h2 className={styles['heading']}>{title}</h2>
    <Text text={JSON.stringify(values, null, 2)} none="" />
  </section>
);

const Attachments = ({ teamId, email, recipient, content }: MailProps & Readonly<{ content: Content }>) => {
  const { omittedAttachments: omitted, replacedCharacters: replaced = [] } = email.metadata;
  if (content.attachments.length === 0 && omitted.length === 0)
    return (
      <State title="No attachments">
        <p>The mail left without files.</p>
      </State>
    );
  return (
    <div className={styles['stack']}>
      <ul className={styles['files']}>
        {content.attachments.map((file) => (
          <li key={file.index}>
            <AttachedFile
              file={file}
              read={() => {
                const data: GetEmailAttachmentData = {
                  url: '/api/emails/{id}/attachments/{index}',
                  path: { id: email.id, index: String(file.index) },
                  query: copyQuery(recipient),
                };
                return readFile(data, { teamId });
              }}
            />
          </li>
        ))}
        {omitted.map(({ name, reason }) => (
          <li key={name}>
            <strong>
              <bdi>{name}</bdi>
            </strong>
            <span className={styles['soft']}>It left without this document: {reason}</span>
          </li>
        ))}
      </ul>
      {replaced.map(({ name, characters }) => (
        <Notice key={name} kind="note">
          {name} shows names in the place of characters that no font has: {characters.join(', ')}
        </Notice>
      ))}
      <p className={styles['below']}>
        PDF files, spreadsheets, pictures and texts are shown here; other files are downloaded. Generated documents are
        kept for seven days.
      </p>
    </div>
  );
};

type Shown = Readonly<
  | { kind: 'picture'; address: string }
  | { kind: 'text'; text: string }
  | { kind: 'pdf'; address: string }
  | { kind: 'sheets'; sheets: readonly Sheet[] }
>;

/** How a file is shown; undefined: it is downloaded alone. */
const viewOf = (contentType: string): 'pdf' | 'picture' | 'text' | 'sheets' | undefined => {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/pdf') return 'pdf';
  if (type === 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet') return 'sheets';
  if (/^image\/(?:png|jpeg|gif|webp|avif)$/.test(type)) return 'picture';
  return /^text\/(?:plain|csv|calendar)$/.test(type) || type === 'application/json' ? 'text' : undefined;
};

type AttachedFileProps = Readonly<{ file: Content['attachments'][number]; read: () => Promise<Blob> }>;

/** `read`: reads the file; rejects with an ApiFault. */
export const AttachedFile = ({ file, read }: AttachedFileProps) => {
  const { isBusy, fault, run } = useReading();
  const [shown, setShown] = useState<Shown>();
  const view = viewOf(file.contentType);
  const address = shown?.kind === 'pdf' ? shown.address : undefined;
  useEffect(
    () => () => {
      if (address !== undefined) URL.revokeObjectURL(address);
    },
    [address],
  );
  const name = file.filename === '' ? `attachment-${file.index}` : file.filename;
  const show = async (): Promise<void> => {
    const blob = await read();
    if (view === 'text') setShown({ kind: 'text', text: await blob.text() });
    else if (view === 'picture') setShown({ kind: 'picture', address: await dataAddressOf(blob) });
    else if (view === 'sheets') setShown({ kind: 'sheets', sheets: await sheetsOf(blob) });
    else {
      // The type is ours, so the browser opens its viewer and never a page of the mail's author.
      const pdf = URL.createObjectURL(new Blob([blob], { type: 'application/pdf' }));
      if (navigator.pdfViewerEnabled) setShown({ kind: 'pdf', address: pdf });
      else window.open(pdf, '_blank');
    }
  };
  return (
    <>
      <div className={styles['file']}>
        <span className={styles['name']}>
          <strong>
            <bdi>{name}</bdi>
          </strong>
          <span className={styles['soft']}>
            {file.contentType.split(';', 1)[0]} · {shownBytes(file.sizeBytes)}
            {file.contentId === null ? '' : ' · shown in the mail'}
          </span>
        </span>
        <span className={styles['row']}>
          {view === undefined ? null : (
            <Button
              isSmall
              isPending={isBusy}
              aria-label={`${shown === undefined ? 'Show' : 'Hide'} ${name}`}
              onPress={() => (shown === undefined ? void run(show) : setShown(undefined))}
            >
              {shown === undefined ? 'Show' : 'Hide'}
            </Button>
          )}
          <Button
            isSmall
            isPending={isBusy}
            aria-label={`Download ${name}`}
            onPress={() => void run(async () => download(await read(), name))}
          >
            Download
          </Button>
        </span>
      </div>
      {fault === undefined ? null : <Notice kind="fault">{fault}</Notice>}
      {shown?.kind === 'picture' ? <img className={styles['picture']} src={shown.address} alt={name} /> : null}
      {shown?.kind === 'text' ? <Text text={shown.text} none="The file is empty." /> : null}
      {shown?.kind === 'pdf' ? <iframe className={styles['pdf']} title={name} src={shown.address} /> : null}
      {shown?.kind === 'sheets' ? <Sheets name={name} sheets={shown.sheets} /> : null}
    </>
  );
};

/** Rejects with SheetUnreadable. */
const sheetsOf = async (file: Blob): Promise<readonly Sheet[]> => (await import('./sheet')).readSheets(file);

const Sheets = ({ name, sheets }: Readonly<{ name: string; sheets: readonly Sheet[] }>) => {
  const [chosen, setChosen] = useState(0);
  const sheet = sheets[chosen];
  if (sheet === undefined) return <State title="The spreadsheet has no sheets" />;
  return (
    <div className={styles['sheets']}>
      {sheets.length < 2 ? null : (
        <label className={styles['copy']}>
          Sheet{' '}
          <select value={chosen} onChange={({ target }) => setChosen(Number(target.value))}>
            {sheets.map((one, place) => (
              <option key={place} value={place}>
                {one.name}
              </option>
            ))}
          </select>
        </label>
      )}
      {sheet.cells.length === 0 ? (
        <State title="The sheet is empty" />
      ) : (
        <div className={styles['scroll']} tabIndex={0} role="region" aria-label={`${name}: ${sheet.name}`}>
          <table className={styles['sheet']}>
            <tbody>
              {sheet.cells.map((row, place) => (
                <tr key={place}>
                  <th scope="row">{place + 1}</th>
                  {row.map((cell, column) => (
                    <td key={column}>
                      <bdi>{cell}</bdi>
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {sheet.isCut ? (
        <p className={styles['below']}>The first rows and columns are shown. Download it for all.</p>
      ) : null}
    </div>
  );
};

const dataAddressOf = (blob: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error('the file could not be read'));
    reader.readAsDataURL(blob);
  });
