/**
 * The text that a spreadsheet program shows for a cell, computed from its value and its format code by code of this
 * test, with the separators of a locale.
 */
import type { ReadCell } from './xlsx.js';

const TOKEN =
  /\[\$([^\]-]*)(?:-[0-9A-Fa-f]+)?\]|"([^"]*)"|\\(.)|(AM\/PM)|(y+|m+|d+|h+|s+)|([#0][#0,]*(?:\.[#0]+)?)|(.)/g;
const DAY_MS = 86_400_000;

export const shownText = ({ type, text, code }: Pick<ReadCell, 'type' | 'text' | 'code'>, locale: string): string => {
  if (type === 'b') return text === '1' ? 'TRUE' : 'FALSE';
  if (type !== 'n' || text === '') return text;
  const value = Number(text);
  const bare = code.replace(/\[\$-[0-9A-Fa-f]+\]/, '');
  if (code === 'General') return marked(String(Number(value.toPrecision(11))), locale);
  return /[ymdhs]/.test(bare.replace(/"[^"]*"|\[[^\]]*\]|\\./g, ''))
    ? dateText(value, bare, { locale, isBuddhist: code.startsWith('[$-107') })
    : numberText(value, bare, locale);
};

const marked = (english: string, locale: string): string => {
  const parts = new Intl.NumberFormat(locale).formatToParts(12345678.5);
  const mark = (type: string): string => parts.find((part) => part.type === type)?.value ?? '';
  return english.replace(/[.,]/g, (found) => mark(found === '.' ? 'decimal' : 'group'));
};

const numberText = (value: number, code: string, locale: string): string => {
  const scaled = code.includes('%') ? value * 100 : value;
  const written = [...code.matchAll(TOKEN)].map(([whole, symbol, quoted, escaped, , , digits]) => {
    if (digits === undefined) return symbol ?? quoted ?? escaped ?? whole;
    const [integer = '', fraction = ''] = digits.split('.');
    return new Intl.NumberFormat(new Intl.Locale(locale, { numberingSystem: 'latn' }), {
      minimumIntegerDigits: integer.replace(/[^0]/g, '').length || 1,
      minimumFractionDigits: fraction.length,
      maximumFractionDigits: fraction.length,
      useGrouping: integer.includes(',') ? 'always' : false,
    }).format(Math.abs(Number(scaled.toPrecision(15))));
  });
  const text = written.join('');
  return scaled < 0 && /[1-9]/.test(text) ? `-${text}` : text;
};

type Reader = Readonly<{ locale: string; isBuddhist: boolean }>;

const dateText = (serial: number, code: string, { locale, isBuddhist }: Reader): string => {
  const date = new Date(Math.round((serial - 25_569) * DAY_MS));
  const calendar = isBuddhist ? 'buddhist' : 'gregory';
  const year = date.getUTCFullYear() + (isBuddhist ? 543 : 0);
  const pad = (value: number, width: number): string => String(value).padStart(width, '0');
  const word = (options: Intl.DateTimeFormatOptions, wanted: string): string =>
    new Intl.DateTimeFormat(locale, { timeZone: 'UTC', calendar, ...options })
      .formatToParts(date)
      .find(({ type }) => type === wanted)?.value ?? '';
  const isHalved = code.includes('AM/PM');
  let lastUnit = '';
  return [...code.matchAll(TOKEN)]
    .map(([whole, symbol, quoted, escaped, half, letters = '']) => {
      if (half !== undefined) return word({ hour: 'numeric', hour12: true }, 'dayPeriod');
      if (letters === '') return symbol ?? quoted ?? escaped ?? whole;
      const unit = letters.charAt(0);
      const isMinute = unit === 'm' && lastUnit === 'h';
      lastUnit = unit;
      switch (unit) {
        case 'y':
          return letters.length <= 2 ? pad(year % 100, 2) : pad(year, 4);
        case 'm':
          if (isMinute) return pad(date.getUTCMinutes(), letters.length);
          if (letters.length <= 2) return pad(date.getUTCMonth() + 1, letters.length);
          // A number is no name: spreadsheets show what stands for the month alone.
          return [word({ month: letters.length === 3 ? 'short' : 'long', day: 'numeric' }, 'month')].map((name) =>
            /^\d+$/.test(name)
              ? new Intl.DateTimeFormat(locale, {
                  timeZone: 'UTC',
                  calendar,
                  month: letters.length === 3 ? 'short' : 'long',
                }).format(date)
              : name,
          )[0]!;
        case 'd':
          if (letters.length <= 2) return pad(date.getUTCDate(), letters.length);
          return word({ weekday: letters.length === 3 ? 'short' : 'long' }, 'weekday');
        case 'h':
          return pad(isHalved ? date.getUTCHours() % 12 || 12 : date.getUTCHours(), letters.length);
        default:
          return pad(date.getUTCSeconds(), letters.length);
      }
    })
    .join('');
};
