/** Two people save the same template: the page tells it, shows both, and loses neither text. */
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Button, Notice } from '../../ui/controls';
import { Moment } from '../../ui/time';
import { bodyOfChange, contentOf, type Stored } from '../content';
import { differencesOf } from '../service';
import { Differences } from '../differences';
import type { Draft } from '../draft';
import { apiOf } from '../kinds';
import { Author } from '../lists';
import styles from './meanwhile.module.css';
import { mergedOf } from './merge';

/** A window that gets the focus again and again asks no more often. */
const ONCE_IN_MS = 3_000;
const LOOK_EACH_MS = 60_000;

/** `check`: reads what the service has, as after a refused save. */
type Meanwhile = Readonly<{ other: Stored | undefined; check: () => Promise<void> }>;

/**
 * Finds what others saved: when the window gets the focus, once a minute, and when a save is refused for it. In: what is
 * known at the beginning.
 */
export const useMeanwhile = (draft: Omit<Draft, 'faults'>, teamId: string, first: Stored | undefined): Meanwhile => {
  const [other, setOther] = useState(first);
  const now = useRef(draft);
  now.current = draft;
  const check = useCallback(async (): Promise<void> => {
    const { kind, stored } = now.current;
    const found = await apiOf[kind].get(stored.id, { teamId });
    const { stored: known, isSaving, rebase } = now.current;
    if (isSaving || found.revision <= known.revision) return;
    // A publish, for instance, changes no text.
    if (bodyOfChange(kind, contentOf(kind, found), contentOf(kind, known)) === undefined) rebase(found);
    else setOther(found);
  }, [teamId]);
  useEffect(() => {
    let before = performance.now();
    const look = (): void => {
      if (document.visibilityState !== 'visible' || performance.now() - before < ONCE_IN_MS) return;
      before = performance.now();
      // A service that cannot be reached tells nothing of others.
      void check().catch(() => undefined);
    };
    const timer = setInterval(look, LOOK_EACH_MS);
    window.addEventListener('focus', look);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      window.removeEventListener('focus', look);
      document.removeEventListener('visibilitychange', look);
    };
  }, [check]);
  const isRefused = draft.refused?.code === 'REVISION_MISMATCH';
  useEffect(() => {
    if (isRefused) void check().catch(() => undefined);
  }, [isRefused, check]);
  return { other: other !== undefined && other.revision > draft.stored.revision ? other : undefined, check };
};

type Props = Readonly<{ draft: Draft; other: Stored; check: Meanwhile['check'] }>;

/** Why the last save was refused, and what somebody else saved. */
export const Refused = ({ draft, other, check }: Omit<Props, 'other'> & Readonly<{ other: Stored | undefined }>) => {
  const { refused } = draft;
  if (other !== undefined) return <Other draft={draft} other={other} check={check} />;
  if (refused === undefined) return null;
  return (
    <div className={styles['place']}>
      <Notice kind="fault">
        {refused.code === 'REVISION_MISMATCH' ? (
          <>
            Somebody else has saved this template since you opened it. Nothing of yours was saved, and nothing is lost.{' '}
            <Button isSmall onPress={() => void check().catch(() => undefined)}>
              Show both
            </Button>
          </>
        ) : refused.errors.length > 0 ? (
          'It was not saved: the faults below have to go first.'
        ) : (
          `It was not saved: ${refused.message}`
        )}
      </Notice>
    </div>
  );
};

const Other = ({ draft, other }: Props): ReactNode => {
  const { kind, base, content, isChanged, refused, canWrite } = draft;
  const [isOpen, setIsOpen] = useState(false);
  const isShown = isOpen || refused?.code === 'REVISION_MISMATCH';
  const who = (
    <>
      <Author by={other.updatedBy} /> saved this template <Moment at={other.updatedAt} />.
    </>
  );
  const take = (
    <Button onPress={() => draft.take(other, { label: 'The version of somebody else' })}>
      {isChanged ? 'Take theirs' : 'Show theirs'}
    </Button>
  );
  if (!isShown)
    return (
      <div className={styles['place']}>
        <Notice kind="note">
          <div className={styles['row']}>
            <span>
              {who} {isChanged ? 'You see your own changes.' : 'You see what was there before.'}
            </span>
            {isChanged ? <Button onPress={() => setIsOpen(true)}>Show both</Button> : take}
          </div>
        </Notice>
      </div>
    );
  return (
    <section className={styles['both']} aria-label="Two versions">
      <Notice kind="fault">
        <p>
          {who} {isChanged ? 'Your changes are not saved, and nothing is lost.' : ''}
        </p>
      </Notice>
      <Versions kind={kind} base={base} content={content} other={other} />
      <div className={styles['row']}>
        {canWrite ? <Merge draft={draft} other={other} /> : null}
        {canWrite ? (
          <Button
            onPress={() => {
              draft.rebase(other);
              setIsOpen(false);
            }}
          >
            Keep mine
          </Button>
        ) : null}
        {take}
      </div>
      <p className={styles['soft']}>
        After “Keep mine” the next save replaces theirs. After “Take theirs” your changes are one Undo away.
      </p>
    </section>
  );
};

/** Puts both together where they do not touch the same. */
const Merge = ({ draft, other }: Readonly<{ draft: Draft; other: Stored }>) => {
  const { kind, base, content } = draft;
  const { content: merged, conflicts } = useMemo(
    () => mergedOf(base, content, contentOf(kind, other)),
    [kind, base, content, other],
  );
  if (conflicts.length > 0)
    return (
      <div className={styles['conflicts']}>
        Both changed:{' '}
        {conflicts.slice(0, 5).map((path) => (
          <code key={path}>{path}</code>
        ))}
        {conflicts.length > 5 ? ` and ${conflicts.length - 5} more` : ''}
      </div>
    );
  return (
    <Button
      look="main"
      onPress={() => {
        draft.rebase(other);
        draft.change(merged, { label: 'Both versions together' });
      }}
    >
      Keep both
    </Button>
  );
};

const Versions = ({
  kind,
  base,
  content,
  other,
}: Pick<Draft, 'kind' | 'base' | 'content'> & Readonly<{ other: Stored }>) => {
  const theirs = useMemo(() => contentOf(kind, other), [kind, other]);
  return (
    <div className={styles['columns']}>
      {(
        [
          ['Theirs', theirs],
          ['Yours', content],
        ] as const
      ).map(([title, version]) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <Differences of={differencesOf(base, version)} />
          <details>
            <summary>The whole text</summary>
            <pre tabIndex={0}>{JSON.stringify(version, null, 2)}</pre>
          </details>
        </section>
      ))}
    </div>
  );
};

/** Changes of an earlier visit are back. */
export const Back = ({
  at,
  onDiscard,
  onClose,
}: Readonly<{ at: string; onDiscard: () => void; onClose: () => void }>) => (
  <div className={styles['place']}>
    <Notice kind="note">
      <div className={styles['row']}>
        <span>
          Your changes of <Moment at={at} /> that were not saved are back.
        </span>
        <Button onPress={onClose}>Go on with them</Button>
        <Button onPress={onDiscard}>Discard them</Button>
      </div>
    </Notice>
  </div>
);
