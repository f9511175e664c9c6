/** Reads the source of an expression into acorn's tree: one JavaScript expression and nothing after it. */
import { parseExpressionAt, tokenizer, tokTypes, type Expression, type Options } from 'acorn';
import { ExpressionError } from './errors.js';
import type { ExpressionLimits } from '../../core/expression-limits.js';

// Not strict, so that variables may be called "package" or "public". Parentheses stay in the tree, so that its end is known.
const options: Options = { ecmaVersion: 2023, sourceType: 'script', preserveParens: true, allowHashBang: false };

/** Throws ExpressionError: TOO_LONG, SYNTAX, or TOO_DEEP where the parser itself runs out of stack. */
export const parseSource = (source: string, { expressionCharsMax }: Pick<ExpressionLimits, 'expressionCharsMax'>): Expression => {
  if (source.length > expressionCharsMax) {
    throw new ExpressionError('TOO_LONG', `has ${source.length} characters, the maximum is ${expressionCharsMax}`, expressionCharsMax);
  }
  if (source.trim() === '') throw new ExpressionError('SYNTAX', 'is empty', 0);
  const tree = guarded({ source, from: 0 }, () => parseExpressionAt(source, 0, options));
  const rest = guarded({ source, from: tree.end }, () => restAfter(source, tree.end));
  if (rest !== undefined)
    throw new ExpressionError('SYNTAX', `goes on after its end, at character ${rest + 1}; one expression is expected`, rest);
  return tree;
};

/** Where something other than blanks, comments and one semicolon follows; undefined where nothing does. */
const restAfter = (source: string, end: number): number | undefined => {
  const tokens = tokenizer(source.slice(end), options);
  let token = tokens.getToken();
  if (token.type === tokTypes.semi) token = tokens.getToken();
  return token.type === tokTypes.eof ? undefined : end + token.start;
};

const guarded = <T>({ source, from }: Readonly<{ source: string; from: number }>, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError || isOutOfStack(error)) throw new ExpressionError('TOO_DEEP', 'is nested too deep to be read', from);
    if (!(error instanceof SyntaxError)) throw error;
    const at = from + positionOf(error);
    const what = error.message.replace(/ \(\d+:\d+\)$/, '');
    throw new ExpressionError(
      'SYNTAX',
      `cannot be read as a JavaScript expression: ${what.charAt(0).toLowerCase()}${what.slice(1)} at character ${at + 1}${habitIn(source)}`,
      at,
    );
  }
};

/** What authors write who know placeholders or workbooks better. */
const habitIn = (source: string): string => {
  if (source.includes('{{')) return '; an expression names variables without braces, as in items.length * 2';
  return source.trimStart().startsWith('=') ? '; an expression begins without "="' : '';
};

/** acorn notices most of its own overflows and words them so. */
const isOutOfStack = (error: unknown): boolean => error instanceof SyntaxError && error.message.startsWith('Not enough stack space');

const positionOf = (error: SyntaxError): number => ('pos' in error && typeof error.pos === 'number' ? error.pos : 0);
