/** What can be wrong with an expression, when it is read and when it is evaluated, as a reason for programs and a sentence for authors. */

export type ExpressionReason =
  /** It is no JavaScript. */
  | 'SYNTAX'
  /** It is JavaScript that expressions do not have. */
  | 'NOT_ALLOWED'
  | 'UNKNOWN_NAME'
  | 'UNKNOWN_METHOD'
  | 'WRONG_ARGUMENT'
  /** A member of something missing, a method that a value of this type does not have. */
  | 'WRONG_VALUE'
  | 'TOO_LONG'
  | 'TOO_DEEP'
  | 'TOO_MANY_OPERATIONS'
  /** A text, an array or a result beyond its bound. */
  | 'TOO_LARGE'
  /** The result cannot be written as JSON: NaN, Infinity, an invalid date. */
  | 'NO_JSON';

/** `message` is the rest of a sentence that begins with the expression; it holds text of the expression, never values. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  readonly reason: ExpressionReason;
  /** Where in the source, in UTF-16 units from 0. */
  readonly at: number;

  constructor(reason: ExpressionReason, message: string, at: number) {
    super(message);
    this.reason = reason;
    this.at = at;
  }
}
