/** The thread in which documents are made: the only place that loads the libraries for PDF and Excel, each when it is first needed. */
import { workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { DomainError } from '../../../domain/errors.js';
import type { DocumentInput } from '../../../domain/ports/generator.js';
import { compileDocument, imageSourcesOf, type CompiledDocument } from '../../../domain/rendering/expand/expand.js';
import type { ExpandedDocument } from '../../../domain/rendering/expand/expanded.js';
import type { Fonts } from '../pdf/fonts.js';
import { alone, refused, type DocumentAnswer, type DocumentJob, type WorkerSettings } from './jobs.js';

const REVISIONS_MAX = 100;

const { limits, fontsDir } = workerData as WorkerSettings;
/** By the key that names a revision for ever. */
const compiled = new LRUCache<string, CompiledDocument>({ max: REVISIONS_MAX });

const compiledOf = ({ cacheKey, content }: DocumentInput): CompiledDocument => {
  const known = compiled.get(cacheKey);
  if (known !== undefined) return known;
  const made = compileDocument(content, limits);
  compiled.set(cacheKey, made);
  return made;
};

let fonts: Promise<Fonts> | undefined;

/** The shipped fonts and those of the configured folder, which is read once. */
const fontsOf = (): Promise<Fonts> =>
  (fonts ??= import('../pdf/fonts.js').then(({ familiesIn, openFonts }) => openFonts(fontsDir === undefined ? [] : familiesIn(fontsDir))));

const make = async (document: ExpandedDocument, { format, images, metadata }: DocumentJob & { kind: 'make' }): Promise<Uint8Array> => {
  switch (format) {
    case 'pdf': {
      const { makePdf } = await import('../pdf/make-pdf.js');
      return makePdf(document, images, metadata, limits, await fontsOf());
    }
    case 'excel': {
      const { makeWorkbook } = await import('../excel/make-workbook.js');
      return makeWorkbook(document, images, metadata, limits);
    }
  }
};

const answer = async (job: DocumentJob): Promise<DocumentAnswer> => {
  const { input, format } = job;
  const document = compiledOf(input)(input.variables, input.environment, format);
  if (job.kind === 'image-sources') return { kind: 'image-sources', sources: imageSourcesOf(document, format) };
  return { kind: 'made', file: alone(await make(document, job)) };
};

/** The answer with its file moved to the caller instead of copied. */
const moved = (found: DocumentAnswer): unknown =>
  found.kind === 'made' ? move({ [transferableSymbol]: [found.file.buffer], [valueSymbol]: found }) : found;

/** In: a job. Out: its answer; a refusal is one. Whatever else goes wrong ends the thread. */
export default async (job: DocumentJob): Promise<unknown> => {
  try {
    return moved(await answer(job));
  } catch (fault) {
    if (fault instanceof DomainError) return refused(fault);
    // What the libraries hold after a fault is not to be relied on: the thread ends with it, and another one takes the next job.
    setImmediate(() => {
      throw fault;
    });
    return new Promise<never>(() => {});
  }
};
