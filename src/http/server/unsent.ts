/** Bounds the bytes of answers that were made and are not read by their clients yet: those of one network, and of all. */
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { DomainError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import { addressBucket } from '../../shared/addresses.js';
import { seldom } from './seldom.js';

type Deps = Readonly<{ limits: Limits; clock: Clock; logger: Logger }>;

type Response = Pick<ServerResponse, 'once' | 'destroy'>;

export type UnsentAnswers = Readonly<{
  /** What is wrong with another request of the address: its network has as many unread answers as it may; undefined if nothing is. */
  fault: (address: string) => DomainError | undefined;
  /** Counts the answer until its `close`. If all networks have too much together, ends the oldest answers of the network with most. */
  add: (response: Response, address: string, bytes: number) => void;
}>;

type Network = { bytes: number; readonly answers: Map<Response, number> };

/** Smaller answers are bounded by the number of connections, for each connection has one. */
const COUNTED_FROM_BYTES = 16 * 1024;

/** A client that reads has read much by then. */
const RETRY_AFTER_S = 5;

export const openUnsentAnswers = ({ limits, clock, logger }: Deps): UnsentAnswers => {
  const { unsentBytesMax, networkUnsentBytesMax } = limits;
  const networks = new Map<string, Network>();
  let total = 0;
  const ended = seldom(clock, () =>
    logger.warn({ unsentBytesMax }, 'connections are ended: their clients read too little of their answers'),
  );

  const forget = (name: string, response: Response): void => {
    const network = networks.get(name);
    const bytes = network?.answers.get(response);
    if (network === undefined || bytes === undefined) return;
    network.answers.delete(response);
    network.bytes -= bytes;
    total -= bytes;
    if (network.answers.size === 0) networks.delete(name);
  };
  /** Out: false if the newest answer of all is the only one that could be ended. */
  const endOldest = (newest: Response): boolean => {
    let most: readonly [string, Network] | undefined;
    for (const entry of networks) if (most === undefined || entry[1].bytes > most[1].bytes) most = entry;
    const [oldest] = most?.[1].answers.keys() ?? [];
    if (most === undefined || oldest === undefined || oldest === newest) return false;
    forget(most[0], oldest);
    oldest.destroy();
    ended();
    return true;
  };
  return {
    fault: (address) => {
      if (total < networkUnsentBytesMax || (networks.get(addressBucket(address))?.bytes ?? 0) < networkUnsentBytesMax) return undefined;
      return new DomainError(
        'RATE_LIMIT_EXCEEDED',
        `Your network has ${networkUnsentBytesMax} bytes of answers that it has not read. Read them, and try again in ${RETRY_AFTER_S} seconds.`,
        { retryAfterS: RETRY_AFTER_S },
      );
    },
    add: (response, address, bytes) => {
      if (bytes < COUNTED_FROM_BYTES) return;
      const name = addressBucket(address);
      const network = networks.get(name) ?? { bytes: 0, answers: new Map<Response, number>() };
      networks.set(name, network);
      network.answers.set(response, bytes);
      network.bytes += bytes;
      total += bytes;
      response.once('close', () => forget(name, response));
      while (total > unsentBytesMax && endOldest(response));
    },
  };
};

/** The hook that counts an answer before its bytes are handed to the connection. A stream makes no more than its client reads. */
export const countUnsent =
  (answers: UnsentAnswers) =>
  (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: HookHandlerDoneFunction): void => {
    if (typeof payload === 'string' || Buffer.isBuffer(payload)) answers.add(reply.raw, request.ip ?? '', payload.length);
    done();
  };
