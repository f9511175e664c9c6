/** Whether the page is as narrow as on a phone; style sheets have the same bound. */
import { useSyncExternalStore } from 'react';

const phone = window.matchMedia('(max-width: 760px)');

const subscribe = (changed: () => void): (() => void) => {
  phone.addEventListener('change', changed);
  return () => phone.removeEventListener('change', changed);
};

export const useIsPhone = (): boolean => useSyncExternalStore(subscribe, () => phone.matches);
