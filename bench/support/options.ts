/** The options of benchmarks: numbers, so that a run can be shorter or longer than it is by default. */
import { parseArgs } from 'node:util';

/** Every benchmark takes all of them, so that several run with the same options; each reads those that it has. */
type Name = 'pairs' | 'emails' | 'warm-up';

/** In: the numbers that a benchmark has, each with its default. Throws where one is not a whole number from 1. */
export const numbersGiven = <Own extends Name>(
  defaults: Readonly<Record<Own, number>>,
): Readonly<Record<Own, number>> => {
  const { values } = parseArgs({
    options: { pairs: { type: 'string' }, emails: { type: 'string' }, 'warm-up': { type: 'string' } },
  });
  const numbers: Record<Own, number> = { ...defaults };
  for (const name of Object.keys(defaults) as Own[]) {
    const given = values[name];
    if (given === undefined) continue;
    if (!/^[1-9]\d*$/.test(given)) throw new Error(`--${name}=${given} is not a whole number from 1`);
    numbers[name] = Number(given);
  }
  return numbers;
};
