/** Pointers on their way to the stream: all of a call at once, each acknowledged by the server. */
import type { Pointer } from '../../domain/ports/bus.js';
import type { Logger } from '../../domain/ports/logger.js';
import { NobodyListens, type Link } from './nats-link.js';
import { encodePointer, membersOf, type Names } from './nats-names.js';
import type { Rooms } from './nats-rooms.js';
import type { Streams } from './nats-streams.js';

export type PublishDeps = Readonly<{ logger: Logger; link: Link; streams: Streams; names: Names; rooms: Rooms }>;

export type Publish = (processor: string, pointers: readonly Pointer[]) => Promise<readonly Pointer[]>;

/** `lost`: the stream is not there. Where the server refuses, it says why. */
type Fate = 'taken' | 'double' | 'lost' | Refused;
type Refused = `refused${string}`;
const REFUSED = 'refused';

const STORE_FAILED = 10_077;
/** Of the two reasons of one code: the pointer is there already. */
const IS_THERE = 'maximum messages per subject exceeded';

export const openPublish = (deps: PublishDeps): Publish => {
  const { link, streams, rooms } = deps;
  const noteRefusals = openRefusals(deps);
  return async (processor, pointers) => {
    if (pointers.length === 0) return [];
    if (!link.isUp()) return pointers;
    try {
      await streams.ensure(processor);
      const reserved = await reserveAll(rooms, processor, pointers);
      const fates: Fate[] = await Promise.all(
        pointers.map((pointer, at) => (reserved[at] === true ? send(deps, processor, pointer) : REFUSED)),
      );
      if (fates.includes('lost')) await makeAgain(deps, processor, pointers, fates);
      pointers.forEach((pointer, at) => {
        if (reserved[at] === true && fates[at] !== 'taken') rooms.giveBack(processor, pointer);
      });
      noteRefusals(fates.filter((_, at) => reserved[at]));
      return pointers.filter((_, at) => fates[at] !== 'taken' && fates[at] !== 'double');
    } catch {
      // The server went away: the link says so, and what was not taken comes again.
      return pointers;
    }
  };
};

/** Where the server takes nothing although there is room, the log says so once, and whoever waits for room waits on for a while. */
const openRefusals = ({ link, logger, rooms }: PublishDeps): ((fates: readonly Fate[]) => void) => {
  let refuses = false;
  return (fates) => {
    const refused = fates.find((fate) => fate === 'lost' || fate.startsWith(REFUSED));
    if (refused === undefined) {
      if (fates.includes('taken')) refuses = false;
      return;
    }
    rooms.close();
    if (!refuses && link.isUp()) logger.error({ reason: refused }, 'the NATS server takes no pointers: work waits until it does');
    refuses = true;
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
    return fault instanceof NobodyListens ? 'lost' : REFUSED;
  }
};

const fateOf = (answer: string): Fate => {
  const fault = membersOf(answer)['error'] as Readonly<{ err_code?: number; description?: string }> | undefined;
  return fault?.err_code === STORE_FAILED && fault.description === IS_THERE
    ? 'double'
    : `${REFUSED}: ${fault?.description ?? 'no reason given'}`;
};
