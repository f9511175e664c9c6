/**
 * Evaluating the total of an order of three items, a calculated variable: at least 200,000 evaluations a second on one
 * core.
 */
import { compileExpression } from '../src/domain/rendering/expression/compile.js';
import { defaultExpressionLimits as limits } from '../src/domain/core/limits.js';
import { machine } from './support/machine.js';

const TARGET_PER_S = 200_000;
const SOURCE = 'items.reduce((s, i) => s + i.qty * i.price, 0)';
const EVALUATIONS = 200_000;
const RUNS = 15;
const WARM_UP_RUNS = 3;
const COMPILATIONS = 3_000;

const scope = {
  items: [
    { qty: 2, price: 4.5 },
    { qty: 1, price: 12 },
    { qty: 3, price: 0.25 },
  ],
};
const EXPECTED = 21.75;
const moment = { at: '2026-11-21T10:00:00Z' };

/** µs of CPU of this process per operation. */
const cpuUs = (operations: number, operation: () => void): number => {
  const before = process.cpuUsage();
  for (let done = 0; done < operations; done += 1) operation();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / operations;
};

const median = (figures: readonly number[]): number =>
  [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)]!;

const { evaluate } = compileExpression(SOURCE, { names: new Set(['items']), limits });
let wrong = 0;
const once = (): void => {
  if (evaluate(scope, moment) !== EXPECTED) wrong += 1;
};
const runs = Array.from({ length: WARM_UP_RUNS + RUNS }, () => cpuUs(EVALUATIONS, once)).slice(WARM_UP_RUNS);
const evaluateUs = median(runs);
const compileUs = median(
  Array.from({ length: 5 }, () =>
    cpuUs(COMPILATIONS, () => void compileExpression(SOURCE, { names: new Set(['items']), limits })),
  ),
);
const perSecond = Math.round(1e6 / evaluateUs);
const worstPerSecond = Math.round(1e6 / Math.max(...runs));

console.log(
  `${SOURCE}: ${perSecond.toLocaleString('en-US')} evaluations a second and core (worst run ${worstPerSecond.toLocaleString('en-US')}), target ${TARGET_PER_S.toLocaleString('en-US')}; compiled in ${compileUs.toFixed(1)} µs`,
);
console.log(
  JSON.stringify({
    name: 'expression',
    perSecond,
    worstPerSecond,
    evaluateUs,
    compileUs,
    target: TARGET_PER_S,
    ...machine(),
  }),
);
if (wrong > 0 || perSecond < TARGET_PER_S) process.exitCode = 1;
