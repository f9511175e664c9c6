/** Names of font families. */

/** `'Noto Sans Hebrew'` and NotoSansHebrew are one family. */
export const plainFamily = (name: string): string => name.replace(/['"\s]+/g, '').toLowerCase();
