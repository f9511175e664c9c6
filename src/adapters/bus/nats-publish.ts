/** Pointers on their way to the stream: all of a call at once, each acknowledged by the server. */
import type { Pointer } from '../../domain/ports/bus.js';
import { NobodyListens, type Link } from './nats-link.js';
import { encodePointer, membersOf, type Names } from './nats-names.js';
import type { Rooms } from './nats-rooms.js';
import type { Streams } from './nats-streams.js';

export type PublishDeps = Readonly<{ link: Link; streams: Streams; names: Names; rooms: Rooms }>;

export type Publish = (processor: string, pointers: readonly Pointer[]) => Promise<readonly Pointer[]>;

/** `lost`: the stream is not there. */
type Fate = 'taken' | 'double' | 'refused' | 'lost';

const STORE_FAILED = 10_077;
/** Of the two reasons of one code: the pointer is there already. */
const IS_THERE = 'maximum messages per subject exceeded';

export const openPublish = (deps: PublishDeps): Publish => {
  const { link, streams, rooms } = deps;
  return async (processor, pointers) => {
    if (pointers.length === 0) return [];
    if (!link.isUp()) return pointers;
    try {
      await streams.ensure(processor);
      const reserved = await reserveAll(rooms, processor, pointers);
      const fates = await Promise.all(pointers.map((pointer, at) => (reserved[at] === true ? send(deps, processor, pointer) : 'refused')));
      if (fates.includes('lost')) await makeAgain(deps, processor, pointers, fates);
      pointers.forEach((pointer, at) => {
        if (reserved[at] === true && fates[at] !== 'taken') rooms.giveBack(processor, pointer);
      });
      return pointers.filter((_, at) => fates[at] === 'refused' || fates[at] === 'lost');
    } catch {
      // The server went away: the link says so, and what was not taken comes again.
      return pointers;
    }
  };
};

/** The server is asked for its counts only where the room seems to be full. */
const reserveAll = async (rooms: Rooms, processor: string, pointers: readonly Pointer[]): Promise<readonly boolean[]> => {
  const reserved = pointers.map((pointer) => rooms.reserve(processor, pointer));
  const wanting = new Set(pointers.filter((_, at) => !reserved[at]).map(({ priority }) => priority));
  if (wanting.size === 0) return reserved;
  try {
    await Promise.all([...wanting].map((priority) => rooms.refresh(processor, priority)));
  } catch {
    return reserved;
  }
  return pointers.map((pointer, at) => reserved[at] === true || rooms.reserve(processor, pointer));
};

const makeAgain = async (
  { streams, ...deps }: PublishDeps,
  processor: string,
  pointers: readonly Pointer[],
  fates: Fate[],
): Promise<void> => {
  streams.forget();
  await streams.ensure(processor);
  await Promise.all(
    fates.map(async (fate, at) => {
      if (fate === 'lost') fates[at] = await send({ streams, ...deps }, processor, pointers[at]!);
    }),
  );
};

const send = async ({ link, names }: PublishDeps, processor: string, pointer: Pointer): Promise<Fate> => {
  try {
    const answer = (await link.ask(names.workSubject(processor, pointer), encodePointer(pointer))).string();
    return answer.includes('"error"') ? fateOf(answer) : 'taken';
  } catch (fault) {
    return fault instanceof NobodyListens ? 'lost' : 'refused';
  }
};

const fateOf = (answer: string): Fate => {
  const fault = membersOf(answer)['error'] as Readonly<{ err_code?: number; description?: string }> | undefined;
  return fault?.err_code === STORE_FAILED && fault.description === IS_THERE ? 'double' : 'refused';
};
