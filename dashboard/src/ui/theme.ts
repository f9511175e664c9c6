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

export const chooseTheme = (theme: Theme): void => {
  localStorage.setItem(KEPT, theme);
  applyTheme(theme);
};
