/** Functions of texts. */
import { MANY, type Known } from './arguments.js';
import { isError, joinedText, numberOf, textOf, type FormulaError } from './values.js';

export const written = (
  compute: (text: string, ...numbers: readonly number[]) => string | number | FormulaError,
  least = 1,
  most = 1,
): Known => ({
  least,
  most,
  run: ([first, ...rest]) => {
    const text = textOf(first?.() ?? null);
    if (typeof text !== 'string') return text;
    const numbers: number[] = [];
    for (const argument of rest) {
      const number = numberOf(argument());
      if (isError(number)) return number;
      numbers.push(Math.trunc(number));
    }
    return compute(text, ...numbers);
  },
});

export const joined: Known = {
  least: 1,
  most: MANY,
  run: (given) => {
    let all = '';
    for (const argument of given) {
      const text = textOf(argument());
      if (typeof text !== 'string') return text;
      all = joinedText(all, text);
    }
    return all;
  },
};
