/** The options of a benchmark: numbers, so that a run can be shorter or longer than it is by default. */
import { parseArgs } from 'node:util';

/**
 * In: the numbers that can be given, each with its default. Ends the process after `--help`; throws where one is not a
 * whole number from 1.
 */
export const numbersGiven = <Name extends string>(
  defaults: Readonly<Record<Name, number>>,
): Readonly<Record<Name, number>> => {
  const names = Object.keys(defaults) as Name[];
  const { values } = parseArgs({
    options: {
      ...Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(`Options: ${names.map((name) => `--${name}=${defaults[name]}`).join(' ')}`);
    process.exit();
  }
  const numberOf = (name: Name): number => {
    const given = (values as Readonly<Record<string, unknown>>)[name];
    if (given === undefined) return defaults[name];
    if (typeof given !== 'string' || !/^[1-9]\d*$/.test(given))
      throw new Error(`--${name}=${String(given)} is not a whole number from 1`);
    return Number(given);
  };
  return Object.fromEntries(names.map((name) => [name, numberOf(name)])) as Record<Name, number>;
};
