/**
 * The types of event in the log, noted in a stream beside it, because the server can list them only by reading everything. A type is noted
 * after its first append through this client. If the process ends in between, the next append of that type notes it.
 */
import type { Position } from '../../../domain/ports/event-store.js';
import type { Appends } from './appends.js';
import { serverIdOf, type StreamNames } from './records.js';
import type { Reading } from './reads.js';

export type TypeNotes = Readonly<{
  all: () => Promise<ReadonlyMap<string, Position>>;
  /** Notes new types. Never rejects. */
  note: (appended: Appended) => Promise<void> | undefined;
}>;

/** An append that is done. `lastRevision` and `lastPosition` are those of its last event. */
export type Appended = Readonly<{ stream: string; types: readonly string[]; lastRevision: number; lastPosition: Position }>;

type Deps = Readonly<{ appends: Pick<Appends, 'append'>; reading: Pick<Reading, 'stream'>; names: StreamNames }>;

const NOTE_TYPE = 'SealpostTypeNoted';

export const openTypeNotes = ({ appends, reading, names }: Deps): TypeNotes => {
  const known = new Set<string>();
  const underWay = new Map<string, Promise<void>>();

  const all = async (): Promise<ReadonlyMap<string, Position>> => {
    const noted = new Map<string, Position>();
    for (const { data } of await reading.stream(names.typeNotes, 0)) {
      const note = noteIn(data);
      if (note !== undefined && !noted.has(note.type)) noted.set(note.type, note.position);
    }
    for (const type of noted.keys()) known.add(type);
    return noted;
  };

  const write = async (type: string, position: Position): Promise<void> => {
    const data = Buffer.from(JSON.stringify({ type, position }));
    // The id is derived from the type: if two processes note a type at once, the server keeps one note.
    const event = { id: serverIdOf(`type ${type} of ${names.typeNotes}`), type: NOTE_TYPE, data, metadata: Buffer.from('{}') };
    const answer = await appends.append({ stream: names.typeNotes, expectedRevision: undefined, events: [event] });
    if (answer.kind === 'done') known.add(type);
  };

  const noteOne = async (type: string, { stream, types, lastRevision, lastPosition }: Appended): Promise<void> => {
    const behindLast = types.length - 1 - types.lastIndexOf(type);
    if (behindLast === 0) return write(type, lastPosition);
    const [event] = await reading.stream(names.atServer(stream), lastRevision - behindLast, 1);
    if (event !== undefined) await write(type, event.position);
  };

  return {
    all,
    note: (appended) => {
      if (appended.types.every((type) => known.has(type))) return undefined;
      const noting = [...new Set(appended.types)].filter((type) => !known.has(type));
      return Promise.all(
        noting.map((type) => {
          const begun = underWay.get(type);
          if (begun !== undefined) return begun;
          // A note that fails is made at the next append.
          const note = noteOne(type, appended)
            .catch(() => {})
            .finally(() => underWay.delete(type));
          underWay.set(type, note);
          return note;
        }),
      ).then(() => {});
    },
  };
};

const noteIn = (data: string): Readonly<{ type: string; position: Position }> | undefined => {
  try {
    const { type, position } = JSON.parse(data) as Readonly<{ type: unknown; position: unknown }>;
    return typeof type === 'string' && typeof position === 'number' ? { type, position } : undefined;
  } catch {
    return undefined;
  }
};
