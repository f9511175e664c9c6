/** Reads a JSON text of many members in several turns of the event loop, each of which takes some thousands of them. */
import { nextTurn } from '../../../shared/next-turn.js';
import { withPlainNames } from './escaped-names.js';
import { endOfString } from './scan.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** So many members, or bytes where its texts are long, are read in one turn. */
export type PartSize = Readonly<{ membersMax: number; bytesMax: number }>;
const PART: PartSize = { membersMax: 8_000, bytesMax: 512 * 1024 };

const isOpen = (byte: number): boolean => byte === OPEN_OBJECT || byte === OPEN_ARRAY;
const isClose = (byte: number): boolean => byte === CLOSE_OBJECT || byte === CLOSE_ARRAY;

/** By the offset of its bracket, where each container ends that is too large for one turn. */
const largeContainers = (bytes: Buffer, { membersMax, bytesMax }: PartSize): ReadonlyMap<number, number> => {
  const found = new Map<number, number>();
  const open: { at: number; before: number }[] = [];
  let members = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1);
    } else if (byte === COMMA) {
      members += 1;
    } else if (isOpen(byte)) {
      members += 1;
      open.push({ at, before: members });
    } else if (isClose(byte)) {
      const inner = open.pop();
      if (inner !== undefined && (members - inner.before > membersMax || at - inner.at > bytesMax)) found.set(inner.at, at);
    }
  }
  return found;
};

const parse = (text: string): unknown => JSON.parse(text.includes('\\') ? withPlainNames(text) : text) as unknown;

type Members = Record<string, unknown>;
type Target = Readonly<{
  open: string;
  close: string;
  add: (part: unknown) => void;
  set: (head: string, value: unknown) => void;
  value: unknown;
}>;

const arrayTarget = (): Target => {
  const value: unknown[] = [];
  return {
    open: '[',
    close: ']',
    add: (part) => {
      for (const element of part as readonly unknown[]) value.push(element);
    },
    set: (_, element) => void value.push(element),
    value,
  };
};

/** A member of the name `__proto__` is one like any other, as it is for JSON.parse. */
const setMember = (target: Members, name: string, value: unknown): void => {
  if (name === '__proto__') Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
  else target[name] = value;
};

const objectTarget = (): Target => {
  const value: Members = {};
  return {
    open: '{',
    close: '}',
    add: (part) => {
      for (const name of Object.keys(part as Members)) setMember(value, name, (part as Members)[name]);
    },
    set: (head, member) => {
      for (const name of Object.keys(parse(`{${head}null}`) as Members)) setMember(value, name, member);
    },
    value,
  };
};

/** In: UTF-8 bytes of a JSON text that is in order. Out: what JSON.parse makes of it; others are served between its parts. */
export const parseInTurns = async (bytes: Buffer, size: PartSize = PART): Promise<unknown> => {
  const large = largeContainers(bytes, size);
  await nextTurn();

  const read = async (start: number, end: number): Promise<unknown> => {
    const target = bytes[start] === OPEN_ARRAY ? arrayTarget() : objectTarget();
    let from = start + 1;
    let memberAt = from;
    let members = 0;
    let depth = 0;
    const take = async (to: number): Promise<void> => {
      if (to > from) target.add(parse(target.open + bytes.toString('utf8', from, to) + target.close));
      members = 0;
      await nextTurn();
    };
    for (let at = from; at < end; at += 1) {
      const byte = bytes[at]!;
      const innerEnd = isOpen(byte) ? large.get(at) : undefined;
      if (byte === QUOTE) {
        at = endOfString(bytes, at + 1);
      } else if (innerEnd !== undefined) {
        // Nothing but white space stands behind it before the next comma.
        if (memberAt > from) await take(memberAt - 1);
        target.set(bytes.toString('utf8', memberAt, at), await read(at, innerEnd));
        at = innerEnd;
        while (at < end && bytes[at] !== COMMA) at += 1;
        from = at + 1;
        memberAt = from;
      } else if (isOpen(byte)) {
        depth += 1;
        members += 1;
      } else if (isClose(byte)) {
        depth -= 1;
      } else if (byte === COMMA) {
        members += 1;
        if (depth > 0) continue;
        if (members >= size.membersMax || at - from >= size.bytesMax) {
          await take(at);
          from = at + 1;
        }
        memberAt = at + 1;
      }
    }
    await take(end);
    return target.value;
  };

  const [root] = [...large].sort(([one], [other]) => one - other);
  return root === undefined ? parse(bytes.toString('utf8')) : read(...root);
};
