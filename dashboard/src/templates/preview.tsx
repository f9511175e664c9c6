/** The live preview at the side of a template: the mail as it looks, its text, or the document. */
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components';
import { Button, Notice, Spinner } from '../ui/controls';
import { shownBytes } from '../ui/bytes';
import { cx } from '../ui/cx';
import { download } from '../ui/download';
import { Fault, Loading, State } from '../ui/states';
import type { Kind } from './content';
import { hasRemotePictures, MailFrame } from './frame';
import styles from './preview.module.css';
import type { Previewed, PreviewSettings, Shown } from './previewing';

const Sheet = lazy(() => import('./sheet'));

type PreviewProps = Readonly<{
  kind: Kind;
  previewed: Previewed;
  canWrite: boolean;
  settings: PreviewSettings;
  onSettings: (next: PreviewSettings) => void;
  /** Languages and formats to choose from. */
  locales: readonly string[];
  formats: readonly ('pdf' | 'excel')[];
  selected?: string | undefined;
  onSelect?: (id: string | undefined) => void;
}>;

export const Preview = ({ kind, previewed, canWrite, ...props }: PreviewProps) => {
  const { shown, fault, isLate, tookMs } = previewed;
  if (kind === 'block' && !canWrite)
    return (
      <State title="Your role shows no preview of blocks">
        <p>Blocks are shown in the previews of the templates that name them.</p>
      </State>
    );
  if (shown === undefined)
    return fault === undefined ? <Loading label="Making the preview" /> : <Fault fault={fault} />;
  return (
    <section className={styles['preview']} aria-label="Preview" aria-busy={isLate}>
      {fault === undefined ? null : <Notice kind="fault">The preview is of before: {fault.message}</Notice>}
      {kind === 'attachment' ? (
        <DocumentPreview shown={shown} isLate={isLate} {...props} />
      ) : (
        <MailPreview shown={shown} isLate={isLate} {...props} />
      )}
      <p className={styles['told']} data-took-ms={tookMs === undefined ? undefined : Math.round(tookMs)}>
        {shown.sizeBytes === undefined || shown.sizeBytes === 0 ? '' : `${shownBytes(shown.sizeBytes)} of HTML. `}
        {canWrite ? 'Nothing is stored, and nobody is written to.' : 'The draft as it is stored.'}
      </p>
    </section>
  );
};

type PartProps = Omit<PreviewProps, 'kind' | 'previewed' | 'canWrite'> & Readonly<{ shown: Shown; isLate: boolean }>;

export const Choice = <Value extends string>({
  label,
  value,
  options,
  onChange,
}: Readonly<{
  label: string;
  value: Value;
  options: Readonly<Partial<Record<Value, string>>>;
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

/** The language of the preview; that of the template first. */
const Language = ({ settings, onSettings, locales }: Pick<PartProps, 'settings' | 'onSettings' | 'locales'>) =>
  locales.length < 2 ? null : (
    <label className={styles['language']}>
      Language{' '}
      <select
        value={settings.locale ?? ''}
        onChange={({ target }) => {
          const { locale: _, ...others } = settings;
          onSettings(target.value === '' ? others : { ...others, locale: target.value });
        }}
      >
        {locales.map((locale, place) => (
          <option key={locale} value={place === 0 ? '' : locale}>
            {locale}
          </option>
        ))}
      </select>
    </label>
  );

const Late = ({ isLate }: Readonly<{ isLate: boolean }>): ReactNode =>
  isLate ? <Spinner label="Making the preview" /> : null;

/** Ids in the mark of an element: those of conditionals, loops and includes, then that of the component. */
const idsOf = (element: Element): readonly string[] =>
  (element.getAttribute('data-component') ?? '')
    .split(' ')
    .filter((id) => id !== '')
    .map((id) => {
      try {
        return decodeURIComponent(id);
      } catch {
        return id;
      }
    });

/** Puts a line around the selected component. */
const outline = (frame: Document, selected: string | undefined): void => {
  for (const element of frame.querySelectorAll<HTMLElement>('[data-component]')) {
    const isSelected = selected !== undefined && idsOf(element).at(-1) === selected;
    element.style.outline = isSelected ? '2px solid #2f5fd0' : '';
    element.style.outlineOffset = isSelected ? '-2px' : '';
  }
};

const MailPreview = ({ shown, isLate, selected, onSelect, ...language }: PartProps) => {
  const [look, setLook] = useState<'desktop' | 'phone' | 'text'>('desktop');
  const [scheme, setScheme] = useState<'light' | 'dark'>('light');
  const [hasPictures, setHasPictures] = useState(false);
  const frame = useRef<Document>(undefined);
  const select = useRef(onSelect);
  select.current = onSelect;
  const { html, text, subject } = shown;
  useEffect(() => {
    if (frame.current !== undefined) outline(frame.current, selected);
  }, [selected]);
  const shownIn = (page: Document): void => {
    outline(page, selected);
    if (frame.current === page) return;
    frame.current = page;
    page.addEventListener('click', ({ target }) => {
      const at = (target as Element).closest('[data-component]');
      select.current?.(at === null ? undefined : idsOf(at).at(-1));
    });
  };
  return (
    <>
      <div className={styles['tools']}>
        <Choice
          label="Part"
          value={look}
          options={{ desktop: 'Desktop', phone: 'Phone', text: 'Text' }}
          onChange={setLook}
        />
        {look === 'text' ? null : (
          <Choice label="Colours" value={scheme} options={{ light: 'Light', dark: 'Dark' }} onChange={setScheme} />
        )}
        <Language {...language} />
        {html === null || html === undefined || !hasRemotePictures(html) ? null : (
          <Button isSmall onPress={() => setHasPictures(!hasPictures)}>
            {hasPictures ? 'Hide remote pictures' : 'Load remote pictures'}
          </Button>
        )}
        <Late isLate={isLate} />
      </div>
      {subject === null || subject === undefined ? null : (
        <p className={styles['subject']}>
          <bdi>{subject}</bdi>
        </p>
      )}
      {html === null || html === undefined ? (
        <State title="Nothing can be shown yet">
          <p>The faults of the template say what is missing.</p>
        </State>
      ) : look === 'text' ? (
        <pre className={styles['text']} dir="auto" tabIndex={0}>
          {text === '' ? 'This mail has no text part.' : text}
        </pre>
      ) : (
        <div className={styles['ground']}>
          <MailFrame
            title={`Preview: ${subject ?? ''}`}
            html={html}
            scheme={scheme}
            pictures={hasPictures}
            className={cx(styles['frame'], scheme === 'dark' && styles['dark'], look === 'phone' && styles['narrow'])}
            onShown={shownIn}
          />
        </div>
      )}
    </>
  );
};

const formatNames = { pdf: 'PDF', excel: 'Workbook' } as const;

const DocumentPreview = ({ shown, isLate, settings, onSettings, formats, locales }: PartProps) => {
  const { file, replaced = [] } = shown;
  return (
    <>
      <div className={styles['tools']}>
        {formats.length < 2 ? null : (
          <Choice
            label="Format"
            value={settings.format ?? formats[0] ?? 'pdf'}
            options={Object.fromEntries(formats.map((format) => [format, formatNames[format]]))}
            onChange={(format) => onSettings({ ...settings, format: format as 'pdf' | 'excel' })}
          />
        )}
        <Language settings={settings} onSettings={onSettings} locales={locales} />
        {file === undefined ? null : (
          <Button
            isSmall
            onPress={() => download(file.bytes, `${file.name}.${file.format === 'pdf' ? 'pdf' : 'xlsx'}`)}
          >
            Download
          </Button>
        )}
        <Late isLate={isLate} />
      </div>
      {file === undefined ? (
        <State title="Nothing can be shown yet">
          <p>The faults of the template say what is missing.</p>
        </State>
      ) : file.format === 'pdf' ? (
        <Pdf bytes={file.bytes} title={`Preview: ${file.name}`} />
      ) : (
        <Suspense fallback={<Loading label="Reading the workbook" />}>
          <Sheet bytes={file.bytes} />
        </Suspense>
      )}
      {replaced.length === 0 ? null : (
        <Notice kind="note">No font has these characters, so their names are shown: {replaced.join(', ')}</Notice>
      )}
    </>
  );
};

/** The browser's own viewer. Its address lives as long as the document is shown. */
const Pdf = ({ bytes, title }: Readonly<{ bytes: Blob; title: string }>) => {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(bytes);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes]);
  return address === undefined ? null : (
    <div className={styles['ground']}>
      <iframe title={title} className={styles['frame']} src={`${address}#view=FitH&navpanes=0`} />
    </div>
  );
};
