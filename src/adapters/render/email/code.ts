/**
 * Writes the source of the one function that renders a template: literals gathered into as few concatenations as
 * possible, values read once per block. User text enters only through `quote`, as the literal of a string.
 */

/** A piece of output: text as it is, or a JavaScript expression that gives text. */
export type Term = string | Js;
export type Js = Readonly<{ js: string }>;

/** Lists that may be long are handed over as they are: an engine bounds the arguments of a call. */
export type Terms = readonly (Term | readonly Term[])[];

export type Code = Readonly<{
  html: (...terms: Terms) => void;
  text: (...terms: Terms) => void;
  /** A statement in its place between the outputs. */
  statement: (js: string) => void;
  /** A statement that only the text needs. */
  textStatement: (js: string) => void;
  /** `head` and a pair of braces around what `body` writes; what is remembered inside is forgotten after. */
  block: (head: string, body: () => void) => void;
  /**
   * The name of a constant that holds the expression, declared where it is first needed and shared where it is in
   * reach.
   */
  remember: (expression: string) => string;
  /** A constant of the template, made once when it is compiled. */
  constant: (expression: string) => string;
  /** A new name. */
  name: (kind: string) => string;
  source: () => Readonly<{ constants: string; body: string }>;
}>;

/** A JavaScript string literal. `<%` and `%>` never occur in it, so Eta's reader cannot take user text for a tag. */
export const quote = (text: string): string => {
  const literal = JSON.stringify(text);
  // Nearly no text has a percent sign, and a template may have many thousands of literals.
  return literal.includes('%') ? literal.replaceAll('<%', '\\u003c%').replaceAll('%>', '%\\u003e') : literal;
};

/** The expression of the pictures inside the mail; most mails have none, and make no list for them. */
export const INLINE = '(q??=[])';

/** The expression of the dark twins of colours that values bring; most mails have none. */
export const DARK = '(d??=TWINS())';

export const js = (expression: string): Js => ({ js: expression });

/** True for terms that give the same text. */
export const isSame = (one: Term, other: Term): boolean =>
  typeof one === 'string' || typeof other === 'string' ? one === other : one.js === other.js;

/** The terms as one expression. Every expression among them gives text that the runtime has measured. */
export const concat = (terms: readonly Term[]): string => {
  const pieces = expressionsOf(terms);
  return pieces.length === 0 ? '""' : pieces.join('+');
};

/**
 * The terms as one expression, for values that are not measured yet: where there are several, the function `join` of
 * the runtime measures them before it puts them together.
 */
export const joinedBy = (join: string, terms: readonly Term[]): string =>
  terms.filter((term) => typeof term !== 'string').length > 1
    ? `${join}([${expressionsOf(terms).join(',')}])`
    : concat(terms);

/** One expression for each term; neighbouring literals become one. */
const expressionsOf = (terms: readonly Term[]): readonly string[] => {
  const pieces: string[] = [];
  let literal = '';
  const close = (): void => {
    if (literal !== '') pieces.push(quote(literal));
    literal = '';
  };
  for (const term of terms) {
    if (typeof term === 'string') literal += term;
    else {
      close();
      pieces.push(term.js);
    }
  }
  close();
  return pieces;
};

/** The text of terms that hold no expression, else undefined. */
export const literalOf = (terms: readonly Term[]): string | undefined =>
  terms.every((term) => typeof term === 'string') ? terms.join('') : undefined;

/**
 * Ends of rows and blocks, and the beginning of a row, are good places for a line to end: no reader sees it there, and
 * a mail whose lines are short needs no encoding. One break serves all that stand together.
 */
const BREAK = /(?:<\/(?:td|th|tr|table|style|head|p|h[1-6])>|<tr>)+/g;
const breakable = (term: Term): Term =>
  typeof term === 'string' && mayBreak(term) ? term.replace(BREAK, '$&\n') : term;
const mayBreak = (text: string): boolean => text.includes('</') || text.includes('<tr>');

const createNames = (prefix: string): ((kind: string) => string) => {
  let names = 0;
  return (kind) => {
    names += 1;
    return `${prefix}${kind}${names}`;
  };
};

const addTo = (pending: Term[], terms: readonly Term[]): void => {
  for (const term of terms) pending.push(term);
};

/**
 * `prefix` keeps the names of two sources apart that are put together; without `withText` nothing is written for the
 * text.
 */
export const createCode = (prefix = '', withText = true): Code => {
  const constants = new Map<string, string>();
  const lines: string[] = [];
  const pending: { h: Term[]; t: Term[] } = { h: [], t: [] };
  const scopes: Map<string, string>[] = [new Map()];
  const name = createNames(prefix);

  const flush = (): void => {
    for (const output of ['h', 't'] as const) {
      if (pending[output].length > 0) lines.push(`${output}+=${concat(pending[output])};`);
      pending[output] = [];
    }
  };
  const statement = (line: string): void => {
    flush();
    lines.push(line);
  };
  return {
    html: (...terms) => addTo(pending.h, terms.flat().map(breakable)),
    text: (...terms) => addTo(pending.t, withText ? terms.flat() : []),
    statement,
    textStatement: (line) => {
      if (withText) statement(line);
    },
    block: (head, body) => {
      flush();
      lines.push(`${head}{`);
      scopes.push(new Map());
      body();
      flush();
      scopes.pop();
      lines.push('}');
    },
    remember: (expression) => {
      const known = scopes.findLast((scope) => scope.has(expression))?.get(expression);
      if (known !== undefined) return known;
      const made = name('x');
      // Values never change while a template is rendered, so a declaration may stand before output that is still
      // pending.
      lines.push(`const ${made}=${expression};`);
      scopes.at(-1)?.set(expression, made);
      return made;
    },
    constant: (expression) => {
      const known = constants.get(expression);
      if (known !== undefined) return known;
      const made = name('k');
      constants.set(expression, made);
      return made;
    },
    name,
    source: () => {
      flush();
      return {
        constants: [...constants].map(([expression, made]) => `const ${made}=${expression};`).join('\n'),
        body: lines.join('\n'),
      };
    },
  };
};
