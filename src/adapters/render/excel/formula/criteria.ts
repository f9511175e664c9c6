/** What SUMIF, COUNTIF and AVERAGEIF ask of a cell: a value, or a text such as `>=100`, `<>`, `open`. */
import { compare, isError, notComputed, type Scalar } from './values.js';

export const criterionOf = (wanted: Scalar): ((cell: Scalar) => boolean) => {
  if (isError(wanted)) return notComputed();
  if (typeof wanted !== 'string') return (cell) => typeof cell === typeof wanted && cell === wanted;
  const [, operator = '', rest = ''] = /^(<=|>=|<>|=|<|>)?(.*)$/s.exec(wanted) ?? [];
  const number = /^[+-]?\d+$/.test(rest) ? Number(rest) : undefined;
  // How a fraction or a date is written is the reader's language's.
  if (number === undefined && /\d/.test(rest)) return isPlainText(rest) && operator === '' ? equals(rest) : notComputed();
  switch (operator) {
    case '':
    case '=':
      return number === undefined ? equals(rest) : (cell) => cell === number;
    case '<>':
      return number === undefined ? (cell) => !equals(rest)(cell) : (cell) => cell !== number;
    default: {
      if (number === undefined) return notComputed();
      return (cell) => {
        if (typeof cell !== 'number') return false;
        const order = compare(cell, number);
        if (typeof order !== 'number') return false;
        return operator === '<' ? order < 0 : operator === '>' ? order > 0 : operator === '<=' ? order <= 0 : order >= 0;
      };
    }
  }
};

/** A letter among the digits: no number and no date of any language. */
const isPlainText = (text: string): boolean => /^[A-Za-z]{4,}/.test(text);

/** Letter case apart. What stands for any letters is left to the sheet. */
const equals = (text: string): ((cell: Scalar) => boolean) => {
  if (text === '') return (cell) => cell === null || cell === '';
  if (/[*?~]/.test(text)) return notComputed();
  const wanted = text.toLowerCase();
  return (cell) => typeof cell === 'string' && cell.toLowerCase() === wanted;
};
