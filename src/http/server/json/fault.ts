/** Finds where a text that JSON.parse refused stops being JSON (RFC 8259), for the error message. */

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const LITERAL = /true|false|null/y;

/** In: a sticky pattern. Out: the offset behind its match at `at`, or -1. */
const match = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
};

const skipSpace = (text: string, at: number): number => match(SPACE, text, at);

type Reading = Readonly<{ end: number } | { fault: number }>;

/** A string whose opening quote is at `at`. Character by character: a pattern would need a stack as deep as the string is long. */
const string = (text: string, at: number): Reading => {
  for (let next = at + 1; next < text.length;) {
    const code = text.charCodeAt(next);
    if (code === 0x22) return { end: next + 1 };
    if (code < 0x20) return { fault: next };
    if (code === 0x5c) {
      const end = match(ESCAPE, text, next);
      if (end < 0) return { fault: next };
      next = end;
    } else {
      next += 1;
    }
  }
  return { fault: text.length };
};

/** A scalar at `at`: the offset behind it, or where it goes wrong. */
const scalar = (text: string, at: number): Reading => {
  if (text[at] === '"') return string(text, at);
  const end = Math.max(match(NUMBER, text, at), match(LITERAL, text, at));
  return end < 0 ? { fault: at } : { end };
};

type Expect = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'commaOrEnd';

/**
 * In: a text. Out: the offset of the first character that cannot stand where it stands (the length of the text where it
 * ends too early), or undefined where the text is JSON. Keeps a stack of its own, so depth costs memory and no recursion.
 */
export const jsonFaultAt = (text: string): number | undefined => {
  const closers: ('}' | ']')[] = [];
  let expect: Expect = 'value';
  let at = skipSpace(text, 0);
  for (;;) {
    const character = text[at];
    const closer = closers[closers.length - 1];
    if ((expect === 'commaOrEnd' || expect === 'keyOrEnd' || expect === 'valueOrEnd') && character === closer && closer !== undefined) {
      closers.pop();
      expect = 'commaOrEnd';
      at += 1;
    } else if (expect === 'commaOrEnd') {
      if (character !== ',') return at;
      expect = closer === '}' ? 'key' : 'value';
      at += 1;
    } else if (expect === 'key' || expect === 'keyOrEnd') {
      const key = character === '"' ? scalar(text, at) : { fault: at };
      if ('fault' in key) return key.fault;
      at = skipSpace(text, key.end);
      if (text[at] !== ':') return at;
      expect = 'value';
      at += 1;
    } else if (character === '{' || character === '[') {
      closers.push(character === '{' ? '}' : ']');
      expect = character === '{' ? 'keyOrEnd' : 'valueOrEnd';
      at += 1;
    } else {
      const value = scalar(text, at);
      if ('fault' in value) return value.fault;
      expect = 'commaOrEnd';
      at = value.end;
    }
    at = skipSpace(text, at);
    if (closers.length === 0 && expect === 'commaOrEnd') return at === text.length ? undefined : at;
  }
};

/** In: a text and an offset into it. Out: the place as people count it, lines and columns from 1. */
export const placeOf = (text: string, at: number): Readonly<{ line: number; column: number }> => {
  let line = 1;
  let start = 0;
  for (let next = text.indexOf('\n'); next >= 0 && next < at; next = text.indexOf('\n', start)) {
    line += 1;
    start = next + 1;
  }
  return { line, column: at - start + 1 };
};
