/** A bulk send to the people of a CSV file: file, template, columns, a look at each mail, dry run, and the send itself. */
import { type ReactNode, useDeferredValue, useEffect, useId, useMemo, useRef, useState } from 'react';
import { FieldRow } from '../../resources/form';
import { NotAllowed, PageHead, Section } from '../../resources/pages';
import { usePlace } from '../../resources/place';
import { may, type Permission } from '../../resources/resource';
import { shownBytes } from '../../ui/bytes';
import { Button, Notice } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { Fault, Loading, State } from '../../ui/states';
import styles from './bulk.module.css';
import { CheckAndSend } from './check';
import { Columns } from './columns';
import { CsvFault, delimiters, encodings, FILE_BYTES_MAX, readTable, type Table } from './csv.js';
import { useDocuments, useTemplates, useVersion } from './data';
import { type Draft, keptOf, newDraft } from './kept';
import { builtRows, guessedMapping, guessedWriting, ownTarget, type Target, targetsOf } from './rows.js';
import { RowsAndMail } from './rows-view';
import { noteBegun, Sending } from './sending';

const BACK = { href: '/batches', name: 'Bulk sends' };
const TITLE = 'Send to a CSV file';

const needed: readonly Permission[] = ['emails:send', 'templates:read'];

/** How long after the last act a draft is kept. */
const KEEP_AFTER_MS = 400;

const NewBatch = () => {
  const { scope } = usePlace();
  const kept = useMemo(() => keptOf(scope.me.id, scope.teamId), [scope.me.id, scope.teamId]);
  const [draft, setDraft] = useState<Draft>();
  useEffect(() => {
    let isHere = true;
    void kept.read().then((found) => {
      if (isHere) setDraft(found ?? newDraft());
    });
    return () => {
      isHere = false;
    };
  }, [kept]);
  const lacking = needed.find((permission) => !may(scope, permission));
  if (lacking !== undefined) return <NotAllowed needs={lacking} title={TITLE} />;
  if (draft === undefined)
    return (
      <>
        <PageHead title={TITLE} back={BACK} />
        <Loading label="Looking for a file that you began with" />
      </>
    );
  return <Prepared key={scope.teamId} kept={kept} first={draft} />;
};

export default NewBatch;

/** `change`: gets what is other; a run is not touched by it. */
export type Change = (changed: Partial<Draft>) => void;

const Prepared = ({ kept, first }: Readonly<{ kept: ReturnType<typeof keptOf>; first: Draft }>) => {
  const { scope } = usePlace();
  const [draft, setDraft] = useState(first);
  const dirty = useRef<Draft>(undefined);
  useEffect(() => {
    if (draft === first || draft.run !== undefined) return;
    dirty.current = draft;
    const keepNow = (): void => {
      if (dirty.current !== draft) return;
      dirty.current = undefined;
      void kept.keep(draft);
    };
    const timer = setTimeout(keepNow, KEEP_AFTER_MS);
    return () => clearTimeout(timer);
  }, [draft, first, kept]);
  // The last words are kept, too, when the page is left.
  useEffect(() => {
    const keepNow = (): void => {
      if (dirty.current !== undefined) void kept.keep(dirty.current);
      dirty.current = undefined;
    };
    window.addEventListener('pagehide', keepNow);
    return () => {
      window.removeEventListener('pagehide', keepNow);
      keepNow();
    };
  }, [kept]);
  const change: Change = (changed) => setDraft((now) => ({ ...now, ...changed, keptAt: Date.now() }));
  const startOver = (): void => {
    dirty.current = undefined;
    void kept.drop();
    setDraft(newDraft());
  };
  return (
    <>
      <PageHead title={TITLE} back={BACK}>
        {draft.file === undefined || draft.run !== undefined ? null : (
          <Button onPress={startOver}>Begin anew with another file</Button>
        )}
      </PageHead>
      <FileSection draft={draft} change={change} />
      <WithTable draft={draft}>
        {(table) => (
          <Filled
            key={scope.teamId}
            draft={draft}
            change={change}
            table={table}
            begin={async (run) => {
              const begun = { ...draft, run };
              // The draft is in the browser before a run can begin with it.
              if (dirty.current !== undefined) await kept.keep(draft);
              dirty.current = undefined;
              if (!(await kept.begin(begun))) return false;
              noteBegun(run.id);
              setDraft(begun);
              return true;
            }}
            kept={kept}
            startOver={startOver}
          />
        )}
      </WithTable>
    </>
  );
};

const encodingNames: Readonly<Record<(typeof encodings)[number], string>> = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16',
  'utf-16be': 'UTF-16, big end first',
  'windows-1252': 'Windows-1252 (Western Europe)',
};

const delimiterNames: Readonly<Record<(typeof delimiters)[number], string>> = {
  ',': 'comma',
  ';': 'semicolon',
  '\t': 'tab',
  '|': 'vertical bar',
};

const tableOf = ({ file, reading }: Draft): Table | CsvFault | undefined => {
  if (file === undefined) return undefined;
  try {
    return readTable(file.bytes, reading);
  } catch (fault) {
    if (fault instanceof CsvFault) return fault;
    throw fault;
  }
};

const useTable = (draft: Draft): Table | CsvFault | undefined => {
  const { file, reading } = draft;
  return useMemo(() => tableOf({ file, reading } as Draft), [file, reading]);
};

const WithTable = ({ draft, children }: Readonly<{ draft: Draft; children: (table: Table) => ReactNode }>) => {
  const table = useTable(draft);
  return table === undefined || table instanceof CsvFault ? null : children(table);
};

type SectionProps = Readonly<{ draft: Draft; change: Change }>;

const FileSection = ({ draft, change }: SectionProps) => {
  const id = useId();
  const table = useTable(draft);
  const [isOver, setIsOver] = useState(false);
  const [refused, setRefused] = useState<string>();
  const input = useRef<HTMLInputElement>(null);
  const { file, reading, run } = draft;
  const take = async (chosen: File | undefined): Promise<void> => {
    if (chosen === undefined) return;
    setRefused(undefined);
    if (chosen.size > FILE_BYTES_MAX) {
      setRefused(`${chosen.name} has ${shownBytes(chosen.size)}; at most ${shownBytes(FILE_BYTES_MAX)} are read here.`);
      return;
    }
    try {
      const bytes = new Uint8Array(await chosen.arrayBuffer());
      // Another file has columns of its own; what was said about all recipients stays.
      const { mapping } = draft;
      const same = Object.fromEntries(Object.entries(mapping).filter(([, source]) => 'same' in source));
      const { writing: _, ...others } = { ...draft, file: { name: chosen.name, bytes }, reading: {} };
      change({ ...others, mapping: same, columns: [] });
    } catch {
      setRefused(`${chosen.name} could not be read.`);
    }
  };
  return (
    <Section
      title="File"
      about="Your browser reads the file. Only the addresses and values that you send leave it, in the calls to sealpost."
    >
      {run !== undefined ? null : (
        <div
          className={cx(styles['drop'], isOver && styles['over'])}
          onDragOver={(event) => {
            event.preventDefault();
            setIsOver(true);
          }}
          onDragLeave={() => setIsOver(false)}
          onDrop={(event) => {
            event.preventDefault();
            setIsOver(false);
            void take(event.dataTransfer.files[0]);
          }}
        >
          <label htmlFor={id}>{file === undefined ? 'CSV file' : 'Another CSV file'}</label>
          <input
            ref={input}
            id={id}
            type="file"
            accept=".csv,.tsv,.txt,text/csv,text/tab-separated-values"
            onChange={({ target }) => {
              void take(target.files?.[0]);
              target.value = '';
            }}
          />
          <span className={styles['soft']}>or drop it here</span>
        </div>
      )}
      {refused === undefined ? null : <Notice kind="fault">{refused}</Notice>}
      {file === undefined ? null : (
        <div className={styles['facts']}>
          <strong>
            <bdi>{file.name}</bdi>
          </strong>
          <span>{shownBytes(file.bytes.length)}</span>
          {table === undefined || table instanceof CsvFault ? null : (
            <span>
              {table.rows.length.toLocaleString()} {table.rows.length === 1 ? 'row' : 'rows'}, {table.head.length}{' '}
              {table.head.length === 1 ? 'column' : 'columns'}
            </span>
          )}
        </div>
      )}
      {table instanceof CsvFault ? (
        <Notice kind="fault">
          {file?.name} {table.message}.
        </Notice>
      ) : null}
      {table === undefined || run !== undefined ? null : (
        <div className={styles['fields']}>
          <FieldRow
            field={{
              name: 'delimiter',
              label: 'Cells are parted by',
              kind: 'select',
              choices: delimiters.map((value) => ({ value, label: delimiterNames[value] })),
            }}
            value={table instanceof CsvFault ? (reading.delimiter ?? ',') : table.delimiter}
            onChange={(value) =>
              change({ reading: { ...reading, delimiter: value as Table['delimiter'] }, mapping: {}, columns: [] })
            }
          />
          <FieldRow
            field={{
              name: 'encoding',
              label: 'Letters are written in',
              kind: 'select',
              choices: encodings.map((value) => ({ value, label: encodingNames[value] })),
            }}
            value={table instanceof CsvFault ? (reading.encoding ?? 'utf-8') : table.encoding}
            onChange={(value) => change({ reading: { ...reading, encoding: value as Table['encoding'] } })}
          />
          <FieldRow
            field={{ name: 'hasHead', label: 'The first row has the names of the columns', kind: 'switch' }}
            value={table instanceof CsvFault ? (reading.hasHead ?? true) : table.hasHead}
            onChange={(value) => change({ reading: { ...reading, hasHead: value === true }, mapping: {}, columns: [] })}
          />
        </div>
      )}
    </Section>
  );
};

type FilledProps = SectionProps &
  Readonly<{
    table: Table;
    begin: (run: NonNullable<Draft['run']>) => Promise<boolean>;
    kept: ReturnType<typeof keptOf>;
    startOver: () => void;
  }>;

/** The rest of the page, once the file is a table. */
const Filled = ({ draft, change, table, begin, kept, startOver }: FilledProps) => {
  const { scope } = usePlace();
  const templates = useTemplates(scope.teamId);
  const version = useVersion(scope.teamId, draft.template);
  const definitions = version.data?.variables;
  const targets = useMemo(
    () =>
      definitions === undefined ? undefined : withColumns(targetsOf(definitions, table.head), table, draft.columns),
    [definitions, table, draft.columns],
  );
  const { mapping } = draft;
  const filled = useMemo(
    () => (targets === undefined ? {} : { ...guessedMapping(table, targets), ...known(mapping, targets, table) }),
    [table, targets, mapping],
  );
  const guess = useMemo(() => guessedWriting(table), [table]);
  const writing = draft.writing ?? guess;
  const now = useDeferredValue(filled);
  const built = useMemo(
    () => (targets === undefined ? undefined : builtRows(table, targets, { mapping: now, writing })),
    [table, targets, now, writing],
  );
  const ready = { ...draft, mapping: filled };
  if (draft.run !== undefined)
    return built === undefined ? (
      <Waits of={version} label="Loading the template" />
    ) : (
      <Sending draft={ready} run={draft.run} built={built} kept={kept} startOver={startOver} />
    );
  return (
    <>
      <Section title="Template">
        {templates.data === undefined ? (
          <Waits of={templates} label="Loading the templates" />
        ) : templates.data.length === 0 ? (
          <State title="No template is published yet">
            <p>A bulk send makes one mail of a template for each row. Publish a template first.</p>
          </State>
        ) : (
          <div className={styles['fields']}>
            <FieldRow
              field={{
                name: 'template',
                label: 'Published template',
                kind: 'select',
                choices: [
                  { value: '', label: 'Choose one' },
                  ...templates.data.map(({ id, name, publishedVersion }) => ({
                    value: id,
                    label: `${name} (version ${publishedVersion})`,
                  })),
                ],
              }}
              value={draft.template?.id ?? ''}
              onChange={(value) => {
                const chosen = templates.data.find(({ id }) => id === value);
                const { template: _, ...others } = draft;
                if (chosen === undefined) change({ ...others, mapping: {}, columns: [] });
                else change({ template: { id: chosen.id, version: chosen.publishedVersion }, columns: [] });
              }}
            />
          </div>
        )}
        {draft.template !== undefined && version.data === undefined ? (
          <Waits of={version} label="Loading the template" />
        ) : null}
      </Section>
      {targets === undefined || built === undefined || version.data === undefined ? null : (
        <>
          <Columns table={table} targets={targets} mapping={filled} writing={writing} draft={draft} change={change} />
          {built.baseFaults.length === 0 ? null : (
            <div className={styles['inset']}>
              <Notice kind="fault">
                {built.baseFaults.map((text) => (
                  <p key={text}>{text}.</p>
                ))}
              </Notice>
            </div>
          )}
          <More draft={draft} change={change} />
          <RowsAndMail draft={draft} targets={targets} mapping={filled} built={built} file={draft.file?.name ?? ''} />
          <CheckAndSend draft={ready} change={change} built={built} templateName={version.data.name} begin={begin} />
        </>
      )}
    </>
  );
};

/** With the columns that fill variables of their own names. */
const withColumns = (targets: readonly Target[], { head }: Table, columns: readonly number[]): readonly Target[] => {
  const extra = columns.flatMap((at) => (head[at] === undefined || head[at] === '' ? [] : [ownTarget(head[at])]));
  return [...targets, ...extra.filter(({ key }) => !targets.some((target) => target.key === key))];
};

/** The choices of the reader, as far as the file and the template still have them. */
const known = (mapping: Draft['mapping'], targets: readonly Target[], { head }: Table): Draft['mapping'] =>
  Object.fromEntries(
    Object.entries(mapping).filter(
      ([key, source]) =>
        targets.some((target) => target.key === key) && (!('column' in source) || source.column < head.length),
    ),
  );

const Waits = ({
  of: { error, refetch },
  label,
}: Readonly<{ of: Readonly<{ error: Error | null; refetch: () => unknown }>; label: string }>) =>
  error === null ? <Loading label={label} /> : <Fault fault={error} retry={() => void refetch()} />;

/** Fields that all recipients share, beside variables. */
const More = ({ draft, change }: SectionProps) => {
  const { scope } = usePlace();
  const documents = useDocuments(scope.teamId);
  const chosen = draft.attachments;
  return (
    <Section title="For everybody">
      <div className={styles['fields']}>
        <FieldRow
          field={{ name: 'batchName', label: 'Name of the send', hint: 'Shown in the list of bulk sends' }}
          value={draft.batchName}
          onChange={(value) => change({ batchName: String(value) })}
        />
        <FieldRow
          field={{ name: 'tags', label: 'Tags', hint: 'Parted by commas' }}
          value={draft.tags}
          onChange={(value) => change({ tags: String(value) })}
        />
      </div>
      {documents.data === undefined ? (
        <Waits of={documents} label="Loading the attachment templates" />
      ) : documents.data.length === 0 ? null : (
        <fieldset className={styles['documents']}>
          <legend>Attachments, made for each recipient</legend>
          {documents.data.map(({ id, name, outputFormats }) => {
            const one = chosen.find((attachment) => attachment.id === id);
            const others = chosen.filter((attachment) => attachment.id !== id);
            return (
              <div key={id} className={styles['document']}>
                <label>
                  <input
                    type="checkbox"
                    checked={one !== undefined}
                    onChange={({ target }) =>
                      change({ attachments: target.checked ? [...others, { id, isRequired: true }] : others })
                    }
                  />
                  <bdi>{name}</bdi> <span className={styles['soft']}>{outputFormats.join(' and ')}</span>
                </label>
                {one === undefined ? null : (
                  <label className={styles['soft']}>
                    <input
                      type="checkbox"
                      checked={!one.isRequired}
                      onChange={({ target }) =>
                        change({
                          attachments: chosen.map((attachment) =>
                            attachment.id === id ? { id, isRequired: !target.checked } : attachment,
                          ),
                        })
                      }
                    />
                    send the mail without it where it cannot be made
                  </label>
                )}
              </div>
            );
          })}
        </fieldset>
      )}
    </Section>
  );
};
