/**
 * The session of the browser. Its tokens are in cookies that no script reads; the page knows the CSRF token and when the
 * access token expires, so that it refreshes before a call is refused.
 */
import { forgetFiles, KEPT_FORMS } from './kept';
import { keptName, ownPath, values } from './values';

const EXPIRES_AT = keptName('expiresAt');
const REFRESHING = keptName('refresh');

/** An access token is exchanged this long before its end. */
const BEFORE_END_MS = 30_000;

/** The cookie of the session that scripts may read; undefined: nobody is signed in. */
export const csrfToken = (): string | undefined =>
  document.cookie
    .split('; ')
    .find((pair) => pair.startsWith(`${values.csrfCookie}=`))
    ?.slice(values.csrfCookie.length + 1);

export const isSignedIn = (): boolean => csrfToken() !== undefined;

/** In: `expiresIn` of a sign-in or a refresh. */
export const noteExpiry = (seconds: number): void =>
  localStorage.setItem(EXPIRES_AT, String(Date.now() + seconds * 1_000));

const expiresAt = (): number => Number(localStorage.getItem(EXPIRES_AT) ?? 0);

export const isRefreshDue = (): boolean =>
  isSignedIn() && expiresAt() !== 0 && Date.now() > expiresAt() - BEFORE_END_MS;

/** `unknown`: the service was not reached, or is busy. */
type Refreshed = 'refreshed' | 'ended' | 'unknown';

/** Exchanges the tokens. Tabs take turns, because a refresh token works once: a tab that waited finds the work done. */
export const refreshSession = async (): Promise<Refreshed> => {
  const known = expiresAt();
  const refresh = async (): Promise<Refreshed> => {
    if (expiresAt() > Math.max(known, Date.now() + BEFORE_END_MS)) return 'refreshed';
    const token = csrfToken();
    if (token === undefined) return 'ended';
    const response = await fetch(ownPath('/api/auth/refresh'), {
      method: 'POST',
      headers: { 'x-csrf-token': token },
    }).catch(() => undefined);
    // After a sign-in meanwhile, the answer is about the session before.
    const isOfNow = csrfToken() === undefined || csrfToken() === token;
    if (response?.status === 401 || response?.status === 403) return isOfNow ? 'ended' : 'refreshed';
    if (response?.ok !== true) return 'unknown';
    noteExpiry(((await response.json()) as Readonly<{ expiresIn: number }>).expiresIn);
    return 'refreshed';
  };
  return 'locks' in navigator ? navigator.locks.request(REFRESHING, refresh) : refresh();
};

export const forgetSession = (): void => localStorage.removeItem(EXPIRES_AT);

/** Takes away what a person wrote and this browser kept, when they sign out. */
export const forgetKept = (): void => {
  forgetFiles();
  for (const [storage, prefix] of [
    [localStorage, keptName('kept:')],
    [sessionStorage, KEPT_FORMS],
  ] as const)
    for (const key of Object.keys(storage)) if (key.startsWith(prefix)) storage.removeItem(key);
};

let tellEnd: () => void = () => undefined;

/** In: what is done when a call finds that the session has ended. */
export const whenSessionEnds = (act: () => void): void => {
  tellEnd = act;
};

export const sessionEnded = (): void => {
  forgetSession();
  tellEnd();
};
