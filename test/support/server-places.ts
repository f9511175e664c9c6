/**
 * Clears what a test has left on a server that it shares with others. A server that is gone by then has nothing to be
 * cleared.
 */
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { connect } from 'nats';

const timeoutMs = 10_000;

export const dropMongoDatabase = async (url: string, place: string): Promise<void> => {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: timeoutMs });
  try {
    await client.db(place).dropDatabase();
  } finally {
    await client.close();
  }
};

export const dropRedisKeys = async (url: string, place: string): Promise<void> => {
  const client = new Redis(url, { maxRetriesPerRequest: 1, connectTimeout: timeoutMs });
  try {
    for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
      const [next, keys] = await client.scan(cursor, 'MATCH', `${place}*`, 'COUNT', 1_000);
      if (keys.length > 0) await client.unlink(keys);
      cursor = next;
    }
  } finally {
    client.disconnect();
  }
};

export const dropNatsStreams = async (url: string, place: string): Promise<void> => {
  const connection = await connect({ servers: url, timeout: timeoutMs });
  try {
    const manager = await connection.jetstreamManager();
    const names: string[] = [];
    for await (const name of manager.streams.names()) if (name.startsWith(place)) names.push(name);
    for (const name of names) await manager.streams.delete(name);
  } finally {
    await connection.close();
  }
};
