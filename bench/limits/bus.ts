/**
 * The limit that the bus is measured against: the same pointers through the same driver, published and acknowledged as
 * its documentation shows.
 */
import { connect } from 'nats';
import type { Pointer } from '../../src/domain/ports/bus.js';
import type { RunOfBus } from '../bus.js';

const PULLED = 64;
const ACK_PENDING_MAX = 100_000;

export const openBareBus = async (url: string, name: string): Promise<RunOfBus> => {
  const connection = await connect({ servers: url, noAsyncTraces: true });
  const manager = await connection.jetstreamManager();
  const stream = name.toUpperCase();
  await manager.streams.add({
    name: stream,
    subjects: [`${name}.>`],
    retention: 'workqueue' as never,
    discard: 'new' as never,
    max_msgs_per_subject: 1,
    discard_new_per_subject: true,
  });
  await manager.consumers.add(stream, {
    durable_name: 'all',
    ack_policy: 'explicit' as never,
    max_ack_pending: ACK_PENDING_MAX,
  });
  const jetStream = connection.jetstream();
  const consumer = await jetStream.consumers.get(stream, 'all');
  return {
    publish: async (pointers) => {
      await Promise.all(
        pointers.map((pointer) =>
          jetStream.publish(`${name}.${pointer.priority}.${pointer.id}`, JSON.stringify(pointer)),
        ),
      );
    },
    consume: async (count) => {
      const messages = await consumer.consume({ max_messages: PULLED });
      const acks: Promise<boolean>[] = [];
      for await (const message of messages) {
        if (message.json<Pointer>().stream === '') throw new Error('no pointer');
        acks.push(message.ackAck());
        if (acks.length === count) break;
      }
      await Promise.all(acks);
    },
    close: async () => {
      await manager.streams.delete(stream);
      await connection.close();
    },
  };
};
