/** Makes documents in their process: the only place that loads the libraries for PDF and Excel, each when it is first needed. */
import { DomainError } from '../../../domain/errors.js';
import type { Limits } from '../../../domain/limits.js';
import type { DocumentInput } from '../../../domain/ports/generator.js';
import { compileDocument, imageSourcesOf, type CompiledDocument } from '../../../domain/rendering/expand/expand.js';
import type { ExpandedDocument } from '../../../domain/rendering/expand/expanded.js';
import type { Fonts } from '../pdf/fonts.js';
import { boundedCache } from '../../../shared/bounded-cache.js';
import { refused, type DocumentAnswer, type DocumentJob, type WorkerSettings } from './jobs.js';

const REVISIONS_MAX = 100;

/** In: the bounds and fonts in force. Out: makes documents, of which each revision is compiled once. */
const openMaker = ({ limits, fontsDir }: WorkerSettings) => {
  const compiledOf = compilerOf(limits);
  let fonts: Promise<Fonts> | undefined;

  /** The shipped fonts and those of the configured folder, which is read once. */
  const fontsOf = (): Promise<Fonts> =>
    (fonts ??= import('../pdf/fonts.js').then(({ familiesIn, openFonts }) =>
      openFonts(fontsDir === undefined ? [] : familiesIn(fontsDir)),
    ));

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

  return async (job: DocumentJob): Promise<DocumentAnswer> => {
    const { input, format } = job;
    const document = compiledOf(input)(input.variables, input.environment, format);
    if (job.kind === 'image-sources') return { kind: 'image-sources', sources: imageSourcesOf(document, format) };
    return { kind: 'made', file: await make(document, job) };
  };
};

/** Keeps what is compiled by the key that names a revision for ever. */
const compilerOf = (limits: Limits): ((input: DocumentInput) => CompiledDocument) => {
  const compiled = boundedCache<string, CompiledDocument>({ entriesMax: REVISIONS_MAX });
  return ({ cacheKey, content }) => compiled.getOrMake(cacheKey, () => compileDocument(content, limits));
};

/** In: the settings, then a job. Out: its answer; a refusal is one. Whatever else goes wrong rejects, which ends the process. */
export default (settings: WorkerSettings) => {
  const answer = openMaker(settings);
  return async (job: DocumentJob): Promise<DocumentAnswer> => {
    try {
      return await answer(job);
    } catch (fault) {
      if (fault instanceof DomainError) return refused(fault);
      throw fault;
    }
  };
};
