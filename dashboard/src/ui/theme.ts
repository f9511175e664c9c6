/** Light, dark, or what the system has; kept in the browser. */
import { keptName } from '../api/values';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const KEPT = keptName('theme');

export const currentTheme = (): Theme => themes.find((theme) => theme === localStorage.getItem(KEPT)) ?? 'system';

/** The colours of the style sheet follow `color-scheme`. */
export const applyTheme = (theme: Theme = currentTheme()): void => {
  document.documentElement.dataset['theme'] = theme;
};

const listeners = new Set<() => void>();

/** In: what is done after each choice. Out: ends that. */
export const onTheme = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

export const chooseTheme = (theme: Theme): void => {
  localStorage.setItem(KEPT, theme);
  applyTheme(theme);
  for (const listener of listeners) listener();
};
