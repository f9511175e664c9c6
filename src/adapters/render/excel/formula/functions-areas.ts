/** Functions that walk through areas side by side: sums by a criterion, sums of products, counts. */
import { MANY, cellsOf, type Known } from './arguments.js';
import { criterionOf } from './criteria.js';
import { finite, isArea, isError, notComputed, scalarOf, VALUE, type FormulaError, type Scalar } from './values.js';

/** SUMIF and its kin: `values` beside the cells that meet the criterion, the cells themselves where there are none. */
export const conditional = (
  least: number,
  most: number,
  compute: (numbers: readonly number[], count: number) => number | FormulaError,
): Known => ({
  least,
  most,
  run: ([where, criterion, values]) => {
    const area = where?.() ?? null;
    const other = values?.() ?? area;
    if (!isArea(area) || !isArea(other) || other.rows !== area.rows || other.columns !== area.columns) return notComputed();
    const meets = criterionOf(scalarOf(criterion?.() ?? null));
    const numbers: number[] = [];
    let count = 0;
    for (let row = 0; row < area.rows; row += 1) {
      for (let column = 0; column < area.columns; column += 1) {
        if (!meets(area.at(row, column))) continue;
        count += 1;
        const cell = other.at(row, column);
        if (isError(cell)) return cell;
        if (typeof cell === 'number') numbers.push(cell);
      }
    }
    return compute(numbers, count);
  },
});

export const products: Known = {
  least: 1,
  most: MANY,
  run: (given) => {
    const areas = given.map((argument) => argument());
    const [first] = areas;
    if (first === undefined || !isArea(first)) return notComputed();
    let total = 0;
    for (let row = 0; row < first.rows; row += 1) {
      for (let column = 0; column < first.columns; column += 1) {
        let product = 1;
        for (const area of areas) {
          if (!isArea(area) || area.rows !== first.rows || area.columns !== first.columns) return VALUE;
          const cell = area.at(row, column);
          if (isError(cell)) return cell;
          product *= typeof cell === 'number' ? cell : 0;
        }
        total += product;
      }
    }
    return finite(total);
  },
};

export const counted = (counts: (cell: Scalar) => boolean): Known => ({
  least: 1,
  most: MANY,
  run: (given) => {
    let count = 0;
    for (const argument of given) {
      const value = argument();
      for (const cell of isArea(value) ? cellsOf(value) : [value]) if (counts(cell)) count += 1;
    }
    return count;
  },
});
