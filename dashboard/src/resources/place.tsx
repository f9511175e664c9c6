/**
 * Pages of resources share: the person and the team, ways to other pages, sentences after an act, and a secret that is
 * shown once.
 */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { meQuery } from '../api/queries';
import { useTeam } from '../api/team';
import { Button } from '../ui/controls';
import { CloseIcon } from '../ui/icons';
import { Loading } from '../ui/states';
import { SecretDialog } from './dialogs';
import styles from './page.module.css';
import type { Done, Scope, Secret } from './resource';

type Place = Readonly<{
  scope: Scope;
  /** Shows another page of the dashboard, with these parameters in its address. */
  go: (path: string, search?: Readonly<Record<string, string>>, isReplaced?: boolean) => void;
  /** Tells the reader what was done, and shows its secret. */
  tell: (done: Done) => void;
}>;

const PlaceContext = createContext<Place | undefined>(undefined);

export const usePlace = (): Place => {
  const place = useContext(PlaceContext);
  if (place === undefined) throw new Error('the page is not inside of its place');
  return place;
};

/** A sentence stays for the page that an act leads to, and goes with the next one. */
const STAYS_MS = 1_500;

type Said = Readonly<{ text: string; at: number }>;

export const PlaceProvider = ({ children }: Readonly<{ children: ReactNode }>) => {
  const team = useTeam();
  const me = useQuery(meQuery).data;
  const navigate = useNavigate();
  const path = useParams({ strict: false })._splat;
  const [said, setSaid] = useState<Said>();
  const [secret, setSecret] = useState<Secret>();
  const afterSecret = useRef<() => void>(undefined);
  useEffect(
    () => setSaid((now) => (now === undefined || performance.now() - now.at < STAYS_MS ? now : undefined)),
    [path],
  );

  const go = useCallback<Place['go']>(
    (to, search = {}, isReplaced = false) => {
      void navigate({ to: '/$', params: { _splat: to.slice(1) }, search, replace: isReplaced });
    },
    [navigate],
  );
  const tell = useCallback<Place['tell']>(
    (done) => {
      setSaid({ text: done.say, at: performance.now() });
      const { open } = done;
      const leave = open === undefined ? undefined : () => go(open);
      if (done.secret === undefined) leave?.();
      else {
        afterSecret.current = leave;
        setSecret(done.secret);
      }
    },
    [go],
  );
  const place = useMemo<Place | undefined>(
    () => (me === undefined ? undefined : { scope: { team, teamId: team.id, me }, go, tell }),
    [team, me, go, tell],
  );
  if (place === undefined) return <Loading label="Loading your profile" />;
  return (
    <PlaceContext.Provider value={place}>
      <div className={styles['said']} role="status">
        {said === undefined ? null : (
          <>
            <span>{said.text}</span>
            <Button look="quiet" isSmall aria-label="Close" onPress={() => setSaid(undefined)}>
              <CloseIcon size={14} />
            </Button>
          </>
        )}
      </div>
      {children}
      {secret === undefined ? null : (
        <SecretDialog
          secret={secret}
          onClose={() => {
            setSecret(undefined);
            afterSecret.current?.();
          }}
        />
      )}
    </PlaceContext.Provider>
  );
};
