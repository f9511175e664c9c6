/**
 * The thread that writes a new generation: does what it is asked, in order, and answers each request; after a fault it
 * does nothing more.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { Document } from '../../domain/ports/read-models.js';
import {
  openNewGeneration,
  type CheckpointRow,
  type GenerationFile,
  type NewGeneration,
  type PackedWrites,
} from './generation.js';

export type Request =
  | Readonly<{ kind: 'write'; writes: readonly PackedWrites[]; to: CheckpointRow }>
  | Readonly<{ kind: 'getMany'; collection: string; ids: readonly string[] }>
  | Readonly<{ kind: 'page'; collection: string; afterId: string; limit: number }>
  | Readonly<{ kind: 'finish' }>
  | Readonly<{ kind: 'close' }>;

/** The documents that were asked for, or the fault. */
export type Answer = readonly Document[] | Error;

const answerTo = (generation: NewGeneration, request: Request): readonly Document[] => {
  switch (request.kind) {
    case 'write':
      generation.write(request.writes, request.to);
      return [];
    case 'getMany':
      return [...generation.getMany(request.collection, request.ids).values()];
    case 'page':
      return generation.pageById(request.collection, request.afterId, request.limit);
    case 'finish':
      generation.finish();
      return [];
    case 'close':
      generation.close();
      return [];
  }
};

const port = parentPort;
if (port !== null) {
  const generation = openNewGeneration(workerData as GenerationFile);
  port.on('message', (request: Request) => {
    let answer: Answer;
    try {
      answer = answerTo(generation, request);
    } catch (error) {
      answer = error instanceof Error ? error : new Error(String(error));
    }
    port.postMessage(answer);
  });
}
