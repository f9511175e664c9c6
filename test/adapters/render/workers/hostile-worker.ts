/** A process that does to the pool what no document should be able to do: what the variables of the job say. */
import { writeFileSync } from 'node:fs';
import { DomainError } from '../../../../src/domain/core/errors.js';
import { refused, type DocumentJob } from '../../../../src/adapters/render/workers/jobs.js';

export const hostileWorker = new URL('./hostile-worker.js', import.meta.url);

export default () => hostile;

const hostile = async (job: DocumentJob | Readonly<{ kind: 'prepare' }>): Promise<unknown> => {
  if (job.kind === 'prepare') return { kind: 'prepared' };
  const act = String(job.input.variables['act']);
  switch (act) {
    case 'answer':
      return {
        kind: 'made',
        replaced: [],
        warnings: [],
        file: new TextEncoder().encode(
          job.kind === 'make' ? [...job.images.values()].map(({ bytes }) => bytes.length).join() : '',
        ),
      };
    case 'sources':
      return { kind: 'image-sources', sources: [] };
    case 'slow':
      return new Promise((resolve) => void setTimeout(() => resolve({ kind: 'image-sources', sources: ['slow'] }), 50));
    case 'marker':
      return new Promise((resolve) => {
        setTimeout(() => {
          writeFileSync(String(job.input.variables['marker']), '');
          resolve({ kind: 'image-sources', sources: [] });
        }, 200);
      });
    case 'pid':
      return { kind: 'image-sources', sources: [String(process.pid)] };
    case 'spin':
      for (;;);
    case 'bomb':
      return bomb();
    case 'buffers':
      return fillBuffers();
    case 'grow':
      kept.push(Buffer.alloc(100 * 1024 * 1024, 1));
      return { kind: 'image-sources', sources: [] };
    case 'exit':
      return process.exit(7);
    case 'abort':
      return process.abort();
    case 'leave':
      return process.disconnect();
    case 'wait-for-ever':
      return new Promise(() => {});
    case 'no-answer-to-clone':
      return { kind: 'image-sources', sources: [() => 'a function'] };
    case 'refuse':
      return refused(
        new DomainError('ERR_LIMIT_001', 'the PDF has 31 pages, the maximum is 30', {
          relatedInfo: { actualPages: 31, maxPages: 30 },
        }),
      );
    case 'environment':
      return { kind: 'image-sources', sources: Object.keys(process.env) };
    case 'throw-later': {
      // As png-js does: an error in a callback that nobody awaits.
      setTimeout(() => {
        throw new Error('a secret of the document');
      }, 1);
      return new Promise(() => {});
    }
    case 'throw-when-done': {
      setTimeout(() => {
        throw new Error('too late');
      }, 1);
      return { kind: 'image-sources', sources: [] };
    }
    default:
      throw new Error(`no such act: ${act}`);
  }
};

const kept: Buffer[] = [];

const BLOCK_BYTES = 16 * 1024 * 1024;

/** Takes memory outside of the heap, and spins where it gets no more. */
const fillBuffers = (): never => {
  const held: Buffer[] = [];
  for (;;) held.push(Buffer.alloc(BLOCK_BYTES, held.length));
};

const bomb = (): number => {
  const held: unknown[] = [];
  for (;;) held.push({ at: held.length, more: new Array(100).fill(held.length) });
};
