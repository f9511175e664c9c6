/** The bounds of calculated variables: what an author may write, and what one evaluation may do. */

export const defaultExpressionLimits = {
  /** Length of the source. */
  expressionCharsMax: 4_000,
  /** Length of all expressions of a template together. */
  expressionsTotalCharsMax: 100_000,
  /** Nesting of the parsed tree; a chain such as `a.b.c` counts each step. */
  expressionDepthMax: 100,
  /** What is written in one expression: operators, calls, accesses, functions, parts of templates, arrays and objects. */
  expressionOperationsMax: 1_000,
  /** What one evaluation may do, which goes over its data: a sum over 1,000 lines is some 3,000. `charge` in run.ts says what counts. */
  expressionRunOperationsMax: 25_000,
  /** Length of each text that an expression makes; also the most that a cell of a sheet holds. */
  expressionTextCharsMax: 32_767,
  /** Items of each array, members of each object that an expression makes. */
  expressionItemsMax: 1_000,
  /** Size of the results of all calculated variables of one call together: characters of text and names, and 8 for each value. */
  expressionResultsCharsMax: 1_000_000,
  /** Nesting of a result. */
  expressionResultDepthMax: 64,
} as const;

export type ExpressionLimits = { readonly [Name in keyof typeof defaultExpressionLimits]: number };
