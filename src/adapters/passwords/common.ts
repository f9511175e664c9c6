/** Whether a password is among those that are tried first: one of the list, or one that is made of one of them in a way that programs try. */
import { commonList } from './common-list.js';

let words: ReadonlySet<string> | undefined;
const isListed = (text: string): boolean => (words ??= new Set(commonList.split(/\s+/))).has(text);

const ROWS = ['01234567890123456789', 'qwertyuiopasdfghjklzxcvbnm', 'abcdefghijklmnopqrstuvwxyz'];

/** Letters that are commonly written as another character. */
const PLAIN: Readonly<Record<string, string>> = { '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', $: 's', '!': 'i' };

/** The shortest text of whose repetition, the last perhaps cut off, it is made. */
const unitOf = (text: string): string => {
  for (let length = 1; length <= text.length / 2; length += 1) {
    const unit = text.slice(0, length);
    if (unit.repeat(Math.ceil(text.length / length)).slice(0, text.length) === text) return unit;
  }
  return text;
};

/** The most that may be added to a listed one before it is another. */
const ADDED_MAX = 4;

const isRow = (text: string): boolean =>
  ROWS.some((row) => row.includes(text) || row.includes([...text].reverse().join(''))) || unitOf(text).length < 4;

const isGuessed = (text: string): boolean => {
  const unit = unitOf(text);
  if (isListed(text) || isRow(text) || (unit !== text && isListed(unit))) return true;
  for (let at = 4; at <= text.length - 4; at += 1) {
    const parts = [text.slice(0, at), text.slice(at)];
    if (parts.every((part) => isListed(part) || isRow(part))) return true;
  }
  return false;
};

export const isCommonPassword = (password: string): boolean => {
  const compact = password.normalize('NFKC').toLowerCase().replace(/\s+/g, '');
  const plain = [...compact].map((character) => PLAIN[character] ?? character).join('');
  return [compact, plain].some((form) => {
    const bare = form.replace(/^[^a-z]+|[^a-z]+$/g, '');
    return isGuessed(form) || (form.length - bare.length <= ADDED_MAX && bare.length >= 4 && isGuessed(bare));
  });
};
