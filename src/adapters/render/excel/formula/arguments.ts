/** What functions of sheets take: arguments that are worked out when they are asked for, and areas walked through cell by cell. */
import { isArea, isError, numberOf, type Area, type FormulaError, type Scalar, type Value } from './values.js';

export type Argument = () => Value;
export type Known = Readonly<{ least: number; most: number; run: (given: readonly Argument[]) => Value }>;

export const MANY = 255;

/** Numbers of all arguments: in areas only what is a number counts, a value that is written out counts as one. An error ends it. */
export const numbersOf = (given: readonly Argument[]): readonly number[] | FormulaError => {
  const numbers: number[] = [];
  for (const argument of given) {
    const value = argument();
    if (!isArea(value)) {
      if (value === null) continue;
      const number = numberOf(value);
      if (isError(number)) return number;
      numbers.push(number);
      continue;
    }
    for (const cell of cellsOf(value)) {
      if (isError(cell)) return cell;
      if (typeof cell === 'number') numbers.push(cell);
    }
  }
  return numbers;
};

export function* cellsOf(area: Area): Iterable<Scalar> {
  for (let row = 0; row < area.rows; row += 1) for (let column = 0; column < area.columns; column += 1) yield area.at(row, column);
}
