/** Parked work in a stream of its own: one message for each id, which stays until it is released. */
import type { Parked, ParkedWork } from '../../domain/ports/bus.js';
import type { Delivery } from './nats-held.js';
import { decodePointer, encodePointer, membersOf } from './nats-names.js';
import type { Publish, PublishDeps } from './nats-publish.js';
import { JetStreamRefusal } from './nats-streams.js';

const NO_MESSAGE = 10_037;

/** Resolves when the server has it. */
export const park = async ({ link, streams, names }: PublishDeps, delivery: Delivery, reason: string, atMs: number): Promise<void> => {
  await streams.ensureStreams();
  const { processor, pointer, deliveries } = delivery;
  const kept = { processor, priority: pointer.priority, pointer: encodePointer(pointer), deliveries, reason, parkedAtMs: atMs };
  const answer = membersOf((await link.ask(names.parkedSubject(processor, pointer), JSON.stringify(kept))).string());
  if (answer['error'] !== undefined) throw new Error(`the NATS server keeps no parked work: ${JSON.stringify(answer['error'])}`);
};

export const openParked = ({ streams, names }: PublishDeps, publish: Publish): ParkedWork => {
  const find = async (seq: number): Promise<Readonly<{ seq: number; parked: Parked | undefined }> | undefined> => {
    try {
      await streams.ensureStreams();
      const answer = await streams.api(`STREAM.MSG.GET.${names.parkedStream}`, { seq, next_by_subj: names.parkedSubjects });
      const message = answer['message'] as Readonly<{ seq: number; data?: string }>;
      return { seq: message.seq, parked: readParked(Buffer.from(message.data ?? '', 'base64').toString()) };
    } catch (fault) {
      if (fault instanceof JetStreamRefusal && fault.code === NO_MESSAGE) return undefined;
      throw fault;
    }
  };
  async function* all(): AsyncGenerator<Readonly<{ seq: number; parked: Parked }>> {
    for (let found = await find(1); found !== undefined; found = await find(found.seq + 1)) {
      if (found.parked !== undefined) yield { seq: found.seq, parked: found.parked };
    }
  }
  return {
    list: async function* () {
      for await (const { parked } of all()) yield parked;
    },
    release: async ({ processor, id }) => {
      for await (const { seq, parked } of all()) {
        if (parked.processor !== processor || parked.pointer.id !== id) continue;
        if ((await publish(processor, [parked.pointer])).length > 0) return false;
        await streams.api(`STREAM.MSG.DELETE.${names.parkedStream}`, { seq, no_erase: true });
        return true;
      }
      return false;
    },
  };
};

const readParked = (json: string): Parked | undefined => {
  const { processor, priority, pointer: encoded, deliveries, reason, parkedAtMs } = membersOf(json);
  const pointer = decodePointer(String(encoded), String(priority));
  if (pointer === undefined || typeof processor !== 'string') return undefined;
  return { processor, pointer, deliveries: Number(deliveries), reason: String(reason), parkedAtMs: Number(parkedAtMs) };
};
