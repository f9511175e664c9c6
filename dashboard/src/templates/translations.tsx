/** The texts of a template side by side in two languages. */
import { type FormEvent, useMemo, useState } from 'react';
import { Button, Notice } from '../ui/controls';
import { State } from '../ui/states';
import { ownOf } from './content';
import { Choice } from './preview';
import type { ViewProps } from './page';
import {
  canonicalTag,
  missingIn,
  type OwnText,
  strayIn,
  textsOf,
  translationsOf,
  widerText,
  withTranslation,
} from './texts';
import styles from './views.module.css';

const TranslationsView = ({ draft, settings, onSettings, jumpTo }: ViewProps) => {
  const { kind, content, change, canWrite } = draft;
  const texts = useMemo(() => textsOf(kind, content), [kind, content]);
  const translations = translationsOf(content);
  const tags = Object.keys(translations);
  const [chosen, setChosen] = useState<string>();
  const [which, setWhich] = useState<'all' | 'missing'>('all');
  const tag = chosen !== undefined && tags.includes(chosen) ? chosen : tags[0];
  const own = typeof content['locale'] === 'string' ? content['locale'] : 'en-US';

  const show = (next: string): void => {
    setChosen(next);
    // The preview speaks the language that is written.
    onSettings({ ...settings, locale: next });
  };
  const add = (next: string): void => {
    change({ ...content, translations: { ...translations, [next]: {} } }, { label: `Add the language ${next}` });
    show(next);
  };
  const remove = (gone: string): void => {
    const { [gone]: _, ...others } = translations;
    change({ ...content, translations: others }, { label: `Take out the language ${gone}` });
    const { locale: __, ...rest } = settings;
    onSettings(rest);
  };
  if (texts === undefined)
    return (
      <State title="The texts cannot be listed yet">
        <p>They are listed once the template has no faults in its form.</p>
      </State>
    );
  return (
    <div className={styles['view']}>
      <p className={styles['soft']}>
        The template itself is written in {own}. A call with another language gets the texts of the nearest language,
        and those of the template where it has none.
      </p>
      <div className={styles['row']}>
        {tags.length === 0 || tag === undefined ? null : (
          <Choice
            label="Language"
            value={tag}
            options={Object.fromEntries(tags.map((one) => [one, labelOf(one, missingIn(content, one, texts).length)]))}
            onChange={show}
          />
        )}
        {canWrite ? <AddLanguage known={[own, ...tags]} onAdd={add} /> : null}
      </div>
      {tag === undefined ? (
        <State title="The template has one language" />
      ) : (
        <>
          <div className={styles['row']}>
            <Choice
              label="Texts"
              value={which}
              options={{ all: `All ${texts.length}`, missing: `Missing ${missingIn(content, tag, texts).length}` }}
              onChange={setWhich}
            />
            {canWrite ? (
              <Button isSmall look="danger" onPress={() => remove(tag)}>
                Take out {tag}
              </Button>
            ) : null}
          </div>
          <ul className={styles['texts']} aria-label={`Texts in ${tag}`}>
            {(which === 'all' ? texts : missingIn(content, tag, texts)).map((text) => (
              <Text
                key={text.key}
                own={text}
                ownTag={own}
                tag={tag}
                translated={ownOf(translations[tag], text.key) ?? ''}
                otherwise={widerText(translations, tag, text.key)}
                isReadOnly={!canWrite}
                onJump={() => jumpTo(text.field)}
                onChange={(next) =>
                  change(withTranslation(content, tag, text.key, next), {
                    label: `Translate into ${tag}`,
                    group: `translation ${tag} ${text.key}`,
                  })
                }
              />
            ))}
          </ul>
          <Stray {...{ content, tag, texts, canWrite, change }} />
        </>
      )}
    </div>
  );
};

export default TranslationsView;

const names = new Intl.DisplayNames(undefined, { type: 'language' });

const nameOf = (tag: string): string => {
  try {
    return names.of(tag) ?? tag;
  } catch {
    return tag;
  }
};

const labelOf = (tag: string, missing: number): string =>
  `${nameOf(tag)}${missing === 0 ? '' : ` (${missing} missing)`}`;

const AddLanguage = ({ known, onAdd }: Readonly<{ known: readonly string[]; onAdd: (tag: string) => void }>) => {
  const [typed, setTyped] = useState('');
  const [fault, setFault] = useState<string>();
  const add = (event: FormEvent): void => {
    event.preventDefault();
    const tag = canonicalTag(typed);
    if (tag === undefined || typed.trim() === '') setFault('This is no language tag; two are de and pt-BR.');
    else if (known.includes(tag)) setFault(`The template has ${tag} already.`);
    else {
      setTyped('');
      setFault(undefined);
      onAdd(tag);
    }
  };
  return (
    <form className={styles['add']} onSubmit={add}>
      <label className={styles['field']}>
        <span className={styles['hidden']}>Another language</span>
        <input
          value={typed}
          placeholder="de, pt-BR"
          maxLength={35}
          {...(fault === undefined ? {} : { 'aria-invalid': true as const })}
          onChange={({ target }) => setTyped(target.value)}
        />
      </label>
      <Button type="submit" isSmall>
        Add a language
      </Button>
      {fault === undefined ? null : (
        <span role="alert" className={styles['fault']}>
          {fault}
        </span>
      )}
    </form>
  );
};

type TextProps = Readonly<{
  own: OwnText;
  ownTag: string;
  tag: string;
  translated: string;
  otherwise: string | undefined;
  isReadOnly: boolean;
  onJump: () => void;
  onChange: (next: string) => void;
}>;

const kindNames: Readonly<Record<OwnText['kind'], string>> = {
  prose: '',
  address: 'an address, often the same',
  expression: 'an expression with words',
};

const Text = ({ own, ownTag, tag, translated, otherwise, isReadOnly, onJump, onChange }: TextProps) => (
  <li>
    <div className={styles['own']}>
      <bdi lang={ownTag}>{own.text}</bdi>
      <span className={styles['soft']}>
        <button type="button" className={styles['jump']} onClick={onJump}>
          <code>{own.field}</code>
        </button>{' '}
        {kindNames[own.kind]}
      </span>
    </div>
    <label className={styles['field']}>
      <span className={styles['hidden']}>
        {tag}: {own.text}
      </span>
      <textarea
        lang={tag}
        dir="auto"
        rows={Math.min(6, Math.max(1, Math.ceil(own.text.length / 44)))}
        value={translated}
        placeholder={otherwise ?? (own.kind === 'prose' ? 'missing' : own.text)}
        readOnly={isReadOnly}
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  </li>
);

/** Translations of texts that the template does not have. */
const Stray = ({
  content,
  tag,
  texts,
  canWrite,
  change,
}: Readonly<
  Pick<ViewProps['draft'], 'content' | 'canWrite' | 'change'> & { tag: string; texts: readonly OwnText[] }
>) => {
  const stray = strayIn(content, tag, texts);
  if (stray.length === 0) return null;
  return (
    <section className={styles['part']}>
      <Notice kind="note">
        {tag} has {stray.length === 1 ? 'a text' : `${stray.length} texts`} that the template does not have. A text of
        the template that was changed has lost its translation.
      </Notice>
      <ul className={styles['stray']}>
        {stray.map((key) => (
          <li key={key}>
            <span>
              <bdi>{key}</bdi>
              {' → '}
              <bdi lang={tag}>{ownOf(translationsOf(content)[tag], key)}</bdi>
            </span>
            {canWrite ? (
              <Button
                isSmall
                aria-label={`Take out ${key}`}
                onPress={() => change(withTranslation(content, tag, key, ''), { label: 'Take out a translation' })}
              >
                Take out
              </Button>
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  );
};
