/** What the parts of the compiler hand to each other while one expression is compiled. */
import type { Expression, SpreadElement } from 'acorn';
import { shorten } from '../scope/path.js';
import { ExpressionError } from './errors.js';
import type { ExpressionLimits } from '../../core/expression-limits.js';
import { charge, checkItems, isList, type Run, type Step, type Value } from './values.js';

export type Context = Readonly<{
  source: string;
  limits: ExpressionLimits;
  /** The variables and constants that may be read. */
  names: ReadonlySet<string>;
  /** Parameters of the arrow functions around, by the place of their value in `Run.locals`. */
  locals: ReadonlyMap<string, number>;
  /** What is learnt on the way; `depth` is that of the node in work. */
  found: { locals: number; depth: number; operations: number; readonly reads: Set<string> };
  /** Compiles one node and what is below it. */
  step: (node: Expression, context: Context) => Step;
}>;

/** Throws NOT_ALLOWED; `what` is what the expression does, in words. */
export const notAllowed = (what: string, { start }: Readonly<{ start: number }>): never => {
  throw new ExpressionError('NOT_ALLOWED', what, start);
};

/** The source of a node, cut for a message. */
export const sourceOf = ({ source }: Context, { start, end }: Readonly<{ start: number; end: number }>): string =>
  shorten(source.slice(start, end), 40);

/**
 * The elements of an array or the arguments of a call. A spread array is charged by its items; the rest is charged by whoever
 * uses the list, for its length is known before.
 */
export const listStep = (nodes: readonly (Expression | SpreadElement)[], context: Context): ((run: Run) => Value[]) => {
  const parts = nodes.map((node) => {
    const spread = node.type === 'SpreadElement';
    return { spread, at: node.start, step: context.step(spread ? node.argument : node, context) };
  });
  const [first, second] = parts;
  if (first === undefined) return () => [];
  if (parts.every(({ spread }) => !spread)) {
    if (second === undefined) return (run) => [first.step(run)];
    return (run) => parts.map(({ step }) => step(run));
  }
  return (run) => {
    const values: Value[] = [];
    for (const { spread, at, step } of parts) {
      const value = step(run);
      if (!spread) {
        values.push(value);
        continue;
      }
      if (!isList(value)) throw new ExpressionError('WRONG_VALUE', 'spreads something that is not an array', at);
      charge(run, value.length, at);
      checkItems(run, values.length + value.length, at);
      values.push(...value);
    }
    return values;
  };
};
