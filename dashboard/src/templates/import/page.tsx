/** A mail of another service becomes a draft: its source, what was made of it, both mails side by side, and the save. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import type { ConvertTemplateData, ConvertTemplateResponse } from '#api';
import { ApiFault, operation } from '../../api/client';
import { draftOf } from '../../resources/draft';
import { ValuesForm } from '../../resources/form';
import { PageHead, Section, useAgain } from '../../resources/pages';
import { usePlace } from '../../resources/place';
import type { Field, Values } from '../../resources/resource';
import { Button, Notice, Spinner } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { StatusBadge, type Tone } from '../../ui/status';
import { hasRemotePictures, MailFrame, type Scheme } from '../frame';
import { apiOf, templatePath, wordsOf } from '../kinds';
import { Choice } from '../preview';
import styles from './import.module.css';
import { inertHtml, originalHtml } from './original';
import { openSource, type SourceView } from './source';

const convert = operation<ConvertTemplateData, ConvertTemplateResponse>('POST', '/api/templates/convert');

const ADDRESS = '/templates/emails/import';
/** Characters of a source; the service refuses longer ones. */
const SOURCE_MAX = 500_000;
const BYTES_MAX = 4 * SOURCE_MAX;

type Language = ConvertTemplateResponse['language']['name'];
type Note = ConvertTemplateResponse['notes'][number];
type Converted = Readonly<{ source: string; result: ConvertTemplateResponse }>;

const languageNames: Readonly<Record<Language, string>> = {
  handlebars: 'Handlebars',
  mustachio: 'Mustachio',
  mjml: 'MJML',
  html: 'HTML',
};

const fields: readonly Field[] = [
  {
    name: 'source',
    label: 'Source',
    kind: 'area',
    hint: 'The HTML, Handlebars, Mustachio or MJML of a mail, as another service has it',
  },
  {
    name: 'file',
    label: 'A file in place of that',
    kind: 'file',
    accept: '.html,.htm,.hbs,.handlebars,.mustache,.mjml,.txt,text/html',
    hint: `At most ${SOURCE_MAX.toLocaleString()} characters`,
  },
  {
    name: 'language',
    label: 'Language',
    kind: 'select',
    choices: [
      { value: 'auto', label: 'guessed from the source' },
      ...Object.entries(languageNames).map(([value, label]) => ({ value, label })),
    ],
  },
  {
    name: 'subject',
    label: 'Subject',
    placeholder: 'Your order {{id}}',
    hint: 'In the language of the source; default: its title',
  },
  {
    name: 'variables',
    label: 'Sample variables',
    kind: 'area',
    placeholder: '{ "id": 42 }',
    hint: 'JSON, as your program gives them to the other service; values that are missing are invented',
  },
];

const textOf = (value: Values[string] | undefined): string => (typeof value === 'string' ? value : '');

const refuse = (field: string, message: string): never => {
  throw new ApiFault(400, { code: 'VALIDATION_ERROR', message, errors: [{ field, message }] });
};

/** Rejects with an ApiFault at the field. */
const sourceOf = async ({ file, source }: Values): Promise<string> => {
  if (!(file instanceof File)) {
    const text = textOf(source);
    return text.trim() === '' ? refuse('source', 'Paste a source, or choose a file.') : fitting('source', text);
  }
  if (file.size > BYTES_MAX) return refuse('file', `is larger than ${SOURCE_MAX.toLocaleString()} characters`);
  const text = await file.text();
  return text.trim() === '' ? refuse('file', 'is empty') : fitting('file', text);
};

const fitting = (field: string, text: string): string =>
  text.length <= SOURCE_MAX
    ? text
    : refuse(
        field,
        `has ${text.length.toLocaleString()} characters; at most ${SOURCE_MAX.toLocaleString()} are converted. Pictures within the text (data:image) take most of a large mail: put them into the gallery`,
      );

const variablesOf = (text: string): Readonly<Record<string, unknown>> | undefined => {
  if (text.trim() === '') return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (fault) {
    return refuse('variables', `is not JSON: ${fault instanceof Error ? fault.message : ''}`);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return refuse('variables', 'has no object, such as { "id": 42 }');
  return parsed as Readonly<Record<string, unknown>>;
};

/** Faults of a source that came from a file stand at the file. */
const atFile = (fault: unknown): unknown =>
  fault instanceof ApiFault
    ? new ApiFault(fault.status, {
        code: fault.code,
        message: fault.message,
        errors: fault.errors.map(({ field, message }) => ({ field: field === 'source' ? 'file' : field, message })),
      })
    : fault;

const languageOf = (value: string): Language | 'auto' =>
  (Object.keys(languageNames) as Language[]).find((name) => name === value) ?? 'auto';

const ImportPage = () => {
  const { scope } = usePlace();
  const [converted, setConverted] = useState<Converted>();
  const [count, setCount] = useState(0);
  const draft = useMemo(() => draftOf(scope.me.id, ADDRESS, fields), [scope.me.id]);
  const [hasFile, setHasFile] = useState(false);
  const shown = fields.map((field) => (field.name === 'source' ? { ...field, isRequired: !hasFile } : field));
  const keep = (values: Values): void => {
    setHasFile(values['file'] instanceof File);
    try {
      draft.keep(values);
    } catch {
      // A source that is larger than the browser keeps is not kept.
      draft.drop();
    }
  };
  const submit = async (values: Values): Promise<void> => {
    setConverted(undefined);
    const source = await sourceOf(values);
    const variables = variablesOf(textOf(values['variables']));
    const subject = textOf(values['subject']).trim();
    const body: ConvertTemplateData['body'] = {
      source,
      language: languageOf(textOf(values['language'])),
      ...(subject === '' ? {} : { subject }),
      ...(variables === undefined ? {} : { variables }),
    };
    try {
      setConverted({ source, result: await convert({ body }, { teamId: scope.teamId }) });
      setCount((known) => known + 1);
    } catch (fault) {
      throw values['file'] instanceof File ? atFile(fault) : fault;
    }
  };
  return (
    <>
      <PageHead title="Import" back={{ href: wordsOf.email.path, name: wordsOf.email.many }} />
      <div className={styles['form']}>
        <ValuesForm fields={shown} kept={draft.kept} onChange={keep} label="Convert" onSubmit={submit} />
      </div>
      {converted === undefined ? null : <Result key={count} {...converted} onSaved={draft.drop} />}
    </>
  );
};

export default ImportPage;

type ResultProps = Converted & Readonly<{ onSaved: () => void }>;

const Result = ({ source, result, onSaved }: ResultProps) => {
  const { language, notes, notesLeftOut } = result;
  const dropped = notes.filter(({ done }) => done === 'dropped').length;
  const whole = useRef<HTMLDivElement>(null);
  // It stands below the form, mostly out of sight.
  useEffect(() => whole.current?.focus(), []);
  return (
    <div ref={whole} className={styles['result']} role="group" aria-label="The converted mail" tabIndex={-1}>
      <Section title="What was made of it">
        <Notice kind="note">
          {language.guessed ? 'The source is ' : 'The source is taken as '}
          {languageNames[language.name]}
          {language.guessed ? `: ${language.reason}` : '.'}{' '}
          {dropped === 0 ? 'Nothing was left out.' : `Left out: ${dropped.toLocaleString()}.`}
        </Notice>
        {notes.length === 0 ? null : <Noted notes={notes} source={source} leftOut={notesLeftOut} />}
      </Section>
      <Section title="Side by side">
        <Compared result={result} />
      </Section>
      <Section title="Save as a draft">
        <Save template={result.template} onSaved={onSaved} />
      </Section>
    </div>
  );
};

const tones: Readonly<Record<Note['done'], Tone>> = { dropped: 'bad', approximated: 'warn', kept: 'good' };

/** Longer lines of a source are cut. */
const LINE_MAX = 120;

const lineOf = (lines: readonly string[], { line, column, in: place }: Note): string => {
  const text = place === 'source' ? (lines[line - 1] ?? '') : '';
  const from = text.length <= LINE_MAX ? 0 : Math.max(0, column - 1 - LINE_MAX / 4);
  return text.slice(from, from + LINE_MAX).trim();
};

type NotedProps = Readonly<{ notes: readonly Note[]; source: string; leftOut: number }>;

/** The notes, and the source beside them: each note leads to its line. */
const Noted = ({ notes, source, leftOut }: NotedProps): ReactNode => {
  const lines = useMemo(() => source.split('\n'), [source]);
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<SourceView>(undefined);
  useEffect(() => {
    const parent = place.current;
    if (parent === null) return undefined;
    const noted = notes.filter((note) => note.in === 'source').map(({ line }) => line);
    const opened = openSource(parent, source, noted);
    view.current = opened;
    return () => opened.close();
  }, [notes, source]);
  return (
    <div className={styles['noted']}>
      <div className={styles['list']} role="region" aria-label="Notes by line" tabIndex={0}>
        <ol className={styles['notes']} aria-label="Notes">
          {notes.map((note, index) => (
            <li key={index} className={styles['note']}>
              <StatusBadge status={note.done} tone={tones[note.done]} />
              <span className={styles['place']}>
                {note.in === 'subject' ? (
                  'Subject'
                ) : (
                  <button type="button" className={styles['jump']} onClick={() => view.current?.goTo(note)}>
                    Line {note.line.toLocaleString()}
                  </button>
                )}
              </span>
              <div className={styles['what']}>
                <bdi>{note.what}</bdi>
                {note.advice === '' ? null : <bdi>{note.advice}</bdi>}
                {lineOf(lines, note) === '' ? null : (
                  <code>
                    <bdi>{lineOf(lines, note)}</bdi>
                  </code>
                )}
              </div>
            </li>
          ))}
        </ol>
        {leftOut === 0 ? null : <p className={styles['inset']}>{leftOut.toLocaleString()} more are not shown.</p>}
      </div>
      <div ref={place} className={styles['code']} />
    </div>
  );
};

const Compared = ({ result: { original, preview } }: Readonly<{ result: ConvertTemplateResponse }>) => {
  const [width, setWidth] = useState<'desktop' | 'phone'>('desktop');
  const [scheme, setScheme] = useState<Scheme>('light');
  const [pictures, setPictures] = useState(false);
  const source = useQuery({
    queryKey: ['original', original],
    queryFn: async ({ signal }) => inertHtml(await originalHtml(original, signal)),
    retry: false,
    gcTime: 0,
  });
  const className = cx(styles['frame'], scheme === 'dark' && styles['dark'], width === 'phone' && styles['narrow']);
  const look = { scheme, pictures, className };
  return (
    <>
      <div className={styles['tools']}>
        <Choice label="Width" value={width} options={{ desktop: 'Desktop', phone: 'Phone' }} onChange={setWidth} />
        <Choice label="Colours" value={scheme} options={{ light: 'Light', dark: 'Dark' }} onChange={setScheme} />
        {hasRemotePictures(`${source.data ?? ''}${preview.html ?? ''}`) ? (
          <Button isSmall onPress={() => setPictures(!pictures)}>
            {pictures ? 'Hide remote pictures' : 'Load remote pictures'}
          </Button>
        ) : null}
      </div>
      <div className={styles['sides']}>
        <Side title="The source" subject={original.subject}>
          {source.error !== null ? (
            <div className={styles['inset']}>
              <Notice kind="fault">The source cannot be shown: {source.error.message}</Notice>
            </div>
          ) : source.data === undefined ? (
            <div className={styles['inset']}>
              <Spinner label="Making the mail" />
            </div>
          ) : (
            <MailFrame {...look} html={source.data} title="Preview of the source" />
          )}
        </Side>
        <Side title="In sealpost" subject={preview.subject ?? ''}>
          <MailFrame {...look} html={preview.html ?? ''} title="Preview in sealpost" />
        </Side>
      </div>
    </>
  );
};

const Side = ({ title, subject, children }: Readonly<{ title: string; subject: string; children: ReactNode }>) => (
  <figure className={styles['side']}>
    <figcaption>
      <strong>{title}</strong>
      {subject === '' ? <span>No subject</span> : <bdi>{subject}</bdi>}
    </figcaption>
    {children}
  </figure>
);

type SaveProps = Readonly<{ template: ConvertTemplateResponse['template']; onSaved: () => void }>;

const Save = ({ template, onSaved }: SaveProps) => {
  const { scope, tell } = usePlace();
  const again = useAgain();
  const saveFields = useRef<readonly Field[]>([
    { name: 'name', label: 'Name', initial: String(template['name'] ?? ''), isRequired: true },
    {
      name: 'slug',
      label: 'Slug',
      hint: 'Calls of your programs name it; default: made of the name. Lower-case letters, digits and hyphens',
    },
  ]);
  const save = async (values: Values): Promise<void> => {
    const slug = textOf(values['slug']).trim();
    const content = { ...template, name: textOf(values['name']).trim(), ...(slug === '' ? {} : { slug }) };
    const { id, name } = await apiOf.email.create(content, { teamId: scope.teamId });
    onSaved();
    void again();
    tell({ say: `${name} is a draft. It can be sent once it is published.`, open: templatePath('email', id) });
  };
  return (
    <div className={styles['save']}>
      <ValuesForm fields={saveFields.current} label="Save as a draft" onSubmit={save} />
    </div>
  );
};
