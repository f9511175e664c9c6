/**
 * JSON while it is typed: its values with their places, and what is wrong, as far as it can be read. Nothing here needs a
 * browser.
 */

export type JsonNode = Readonly<{ from: number; to: number }> &
  (
    | Readonly<{ kind: 'object'; members: readonly JsonMember[] }>
    | Readonly<{ kind: 'array'; items: readonly JsonNode[] }>
    | Readonly<{ kind: 'scalar'; value: string | number | boolean | null }>
    /** Nothing stands there, or nothing that can be read. */
    | Readonly<{ kind: 'missing' }>
  );

export type JsonMember = Readonly<{ key: string; keyFrom: number; keyTo: number; value: JsonNode }>;

export type JsonFault = Readonly<{ from: number; to: number; message: string }>;

export type JsonText = Readonly<{ root: JsonNode; faults: readonly JsonFault[] }>;

/** Templates are shallower, and a deeper one would end the stack. */
const DEPTH_MAX = 200;
const FAULTS_MAX = 20;

/** Reads as much as can be read. In: any text. */
export const readJson = (text: string): JsonText => {
  const faults: JsonFault[] = [];
  let at = 0;
  const tell = (from: number, to: number, message: string): void => {
    if (faults.length < FAULTS_MAX) faults.push({ from, to: Math.max(to, Math.min(from + 1, text.length)), message });
  };
  const skip = (): void => {
    while (at < text.length && ' \t\r\n'.includes(text[at]!)) at += 1;
  };

  const string = (): string => {
    const from = at;
    at += 1;
    while (at < text.length && text[at] !== '"' && text[at] !== '\n') at += text[at] === '\\' ? 2 : 1;
    at = Math.min(at, text.length);
    if (text[at] === '"') at += 1;
    else tell(from, at, 'The text is not closed: a quotation mark is missing.');
    const raw = text.slice(from, at);
    try {
      return JSON.parse(raw) as string;
    } catch {
      if (raw.length > 1 && raw.endsWith('"'))
        tell(from, at, 'The text has a character that JSON writes with a backslash.');
      return raw.replace(/^"|"$/g, '');
    }
  };

  /** A run of characters that end no value. */
  const word = (): string => {
    const from = at;
    while (at < text.length && !' \t\r\n,:[]{}"'.includes(text[at]!)) at += 1;
    if (at === from) at += 1;
    return text.slice(from, at);
  };

  const value = (depth: number): JsonNode => {
    skip();
    const from = at;
    const first = text[at];
    if (first === undefined || ',]}:'.includes(first)) {
      tell(from, from, 'A value is missing.');
      return { kind: 'missing', from, to: from };
    }
    if ((first === '{' || first === '[') && depth >= DEPTH_MAX) {
      tell(from, from + 1, 'This is too deep.');
      at = text.length;
      return { kind: 'missing', from, to: at };
    }
    if (first === '{') return object(depth);
    if (first === '[') return array(depth);
    if (first === '"') return { kind: 'scalar', value: string(), from, to: at };
    const raw = word();
    try {
      return { kind: 'scalar', value: JSON.parse(raw) as number | boolean | null, from, to: at };
    } catch {
      tell(from, at, 'This is no value. A text stands in quotation marks.');
      return { kind: 'missing', from, to: at };
    }
  };

  /** Goes behind a comma. Out: whether the list has ended. */
  const isAtEnd = (close: string, opened: number): boolean => {
    skip();
    if (text[at] === close) {
      at += 1;
      return true;
    }
    if (at >= text.length || text[at] === (close === '}' ? ']' : '}')) {
      tell(opened, opened + 1, `It is not closed: ${close} is missing.`);
      return true;
    }
    return false;
  };
  const comma = (close: string): void => {
    skip();
    if (text[at] === ',') {
      const comma = at;
      at += 1;
      skip();
      if (text[at] === close) tell(comma, comma + 1, 'No comma stands behind the last one.');
    } else if (at < text.length && !'}]'.includes(text[at]!)) tell(at, at, 'A comma is missing before this.');
  };

  const object = (depth: number): JsonNode => {
    const from = at;
    const members: JsonMember[] = [];
    const known = new Set<string>();
    at += 1;
    while (!isAtEnd('}', from)) {
      const keyFrom = at;
      let key: string;
      if (text[at] === '"') key = string();
      else {
        key = word();
        tell(keyFrom, at, 'A name in quotation marks is expected.');
      }
      const keyTo = at;
      if (known.has(key)) tell(keyFrom, keyTo, `“${key}” stands here twice.`);
      known.add(key);
      skip();
      if (text[at] === ':') at += 1;
      else tell(keyTo, keyTo, 'A colon is missing behind the name.');
      members.push({ key, keyFrom, keyTo, value: value(depth + 1) });
      comma('}');
    }
    return { kind: 'object', members, from, to: at };
  };

  const array = (depth: number): JsonNode => {
    const from = at;
    const items: JsonNode[] = [];
    at += 1;
    while (!isAtEnd(']', from)) {
      if (text[at] === ',' || text[at] === ':') {
        tell(at, at + 1, 'A value is missing.');
        at += 1;
        continue;
      }
      items.push(value(depth + 1));
      comma(']');
    }
    return { kind: 'array', items, from, to: at };
  };

  const root = value(0);
  skip();
  if (at < text.length) tell(at, text.length, 'Nothing stands behind the end.');
  return { root, faults };
};

type Step = string | number;

/** The range of the value at the steps; of a member also its name. The nearest value around where there is none. */
export const rangeAt = (root: JsonNode, steps: readonly Step[]): Readonly<{ from: number; to: number }> => {
  let node = root;
  let range = { from: root.from, to: root.from + 1 };
  for (const step of steps) {
    if (node.kind === 'object') {
      const member = node.members.findLast(({ key }) => key === String(step));
      if (member === undefined) break;
      range = {
        from: member.keyFrom,
        to: isBox(member.value) ? member.keyTo : Math.max(member.value.to, member.keyTo),
      };
      node = member.value;
    } else if (node.kind === 'array') {
      const item = node.items[Number(step)];
      if (item === undefined) break;
      range = { from: item.from, to: isBox(item) ? item.from + 1 : item.to };
      node = item;
    } else break;
  }
  return range;
};

const isBox = ({ kind }: JsonNode): boolean => kind === 'object' || kind === 'array';

/** The place of the component with that id; undefined: there is none. */
export const componentAt = (root: JsonNode, id: string): Readonly<{ from: number; to: number }> | undefined => {
  const stack: JsonNode[] = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.kind === 'array') stack.push(...node.items.toReversed());
    if (node.kind !== 'object') continue;
    const has = (name: string): unknown => {
      const value = node.kind === 'object' ? node.members.find(({ key }) => key === name)?.value : undefined;
      return value?.kind === 'scalar' ? value.value : undefined;
    };
    if (has('id') === id && typeof has('type') === 'string') return { from: node.from, to: node.to };
    stack.push(...node.members.map(({ value }) => value).toReversed());
  }
  return undefined;
};

/**
 * A name or a value that is typed at an offset. `steps`: the path of the object (a name is typed) or of the value. `from`, `to`: what
 * a completion replaces. `around`: the objects on the way, the nearest last.
 */
export type Typed = Readonly<{
  what: 'name' | 'value';
  steps: readonly Step[];
  from: number;
  to: number;
  isQuoted: boolean;
  /** The name has a value behind it already. */
  hasValue: boolean;
  around: readonly JsonNode[];
}>;

/** Undefined: nothing can be completed there. */
export const typedAt = (text: string, root: JsonNode, offset: number): Typed | undefined => {
  const steps: Step[] = [];
  const around: JsonNode[] = [];
  let node = root;
  const within = ({ from, to }: Readonly<{ from: number; to: number }>): boolean => from <= offset && offset <= to;
  for (;;) {
    if (node.kind === 'object' && offset > node.from && (offset < node.to || text[node.to - 1] !== '}')) {
      around.push(node);
      const named = node.members.find(({ keyFrom, keyTo }) => keyFrom <= offset && offset <= keyTo);
      if (named !== undefined) {
        const { keyFrom: from, keyTo: to, value } = named;
        const isQuoted = text[from] === '"';
        if (isQuoted && offset === from) return undefined;
        return { what: 'name', steps, from, to, isQuoted, hasValue: value.kind !== 'missing', around };
      }
      const member = node.members.find(({ keyTo, value }) => offset > keyTo && offset <= Math.max(value.to, keyTo + 1));
      if (member !== undefined) {
        steps.push(member.key);
        const { value } = member;
        if (isBox(value) && offset > value.from) {
          node = value;
          continue;
        }
        return valueAt(value, offset, { steps, around, text });
      }
      // Behind a comma or the opening brace a name is expected; behind a value a comma.
      const before = text.slice(node.from, offset).trimEnd().at(-1);
      return before === '{' || before === ','
        ? { what: 'name', steps, from: offset, to: offset, isQuoted: false, hasValue: false, around }
        : undefined;
    }
    if (node.kind === 'array' && offset > node.from && (offset < node.to || text[node.to - 1] !== ']')) {
      const place = node.items.findIndex((item) => within(item));
      const item = node.items[place];
      if (item === undefined) {
        steps.push(node.items.length);
        return { what: 'value', steps, from: offset, to: offset, isQuoted: false, hasValue: false, around };
      }
      steps.push(place);
      if (isBox(item) && offset > item.from) {
        node = item;
        continue;
      }
      return valueAt(item, offset, { steps, around, text });
    }
    return undefined;
  }
};

const valueAt = (
  value: JsonNode,
  offset: number,
  { steps, around, text }: Readonly<{ steps: readonly Step[]; around: readonly JsonNode[]; text: string }>,
): Typed | undefined => {
  const isInside = value.kind !== 'missing' && value.from <= offset && offset <= value.to;
  const [from, to] = isInside ? [value.from, value.to] : [offset, offset];
  if (isBox(value) && isInside) return undefined;
  return { what: 'value', steps, from, to, isQuoted: isInside && text[from] === '"', hasValue: isInside, around };
};

/** In: a value with places. Out: the plain value; what is missing is absent. */
export const plainOf = (node: JsonNode): unknown => {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'array') return node.items.map(plainOf);
  return node.kind === 'missing'
    ? undefined
    : Object.fromEntries(node.members.map(({ key, value }) => [key, plainOf(value)]));
};
