/**
 * Makes documents, renders mails and converts those of other services in a process apart; the code of each is loaded
 * when it is first needed.
 */
import { openBudget } from '../../../domain/rendering/budget.js';
import { DomainError, type FieldError } from '../../../domain/core/errors.js';
import type { Limits } from '../../../domain/core/limits.js';
import { type GalleryFont, fontFilesOf } from '../../../domain/rendering/content.js';
import type { DocumentInput, LoadedImage } from '../../../domain/ports/generator.js';
import type { Renderer } from '../../../domain/ports/renderer.js';
import { drawnCharactersOf, leftOutOfCharts } from '../../../domain/rendering/expand/resources.js';
import { compileDocument, type CompiledDocument } from '../../../domain/rendering/expand/expand.js';
import { imageSourcesOf } from '../../../domain/rendering/expand/resources.js';
import type { ExpandedDocument } from '../../../domain/rendering/expand/expanded.js';
import type { FontFamily, Fonts } from '../pdf/fonts.js';
import { codePointOf } from '../../../shared/text.js';
import { boundedCache } from '../../../shared/cache.js';
import {
  sampleJob,
  refused,
  type Answer,
  type ConversionJob,
  type DocumentJob,
  type EmailJob,
  type FontJob,
  type Job,
  type SvgJob,
  type WorkerSettings,
} from './jobs.js';

const REVISIONS_MAX = 100;

/** In: the bounds and fonts in force. Out: makes documents, of which each revision is compiled once. */
const openMaker = ({ limits, fontsDir }: WorkerSettings) => {
  const compiledOf = compilerOf(limits);
  let configured: readonly FontFamily[] | undefined;
  let fonts: Fonts | undefined;

  /**
   * The shipped fonts and those of the configured folder, which is read once; with those of the template, where it
   * brings some.
   */
  const fontsOf = async (
    brought: readonly GalleryFont[] = [],
    files: ReadonlyMap<string, LoadedImage>,
  ): Promise<Fonts> => {
    const { familiesIn, openFonts } = await import('../pdf/fonts.js');
    configured ??= fontsDir === undefined ? [] : familiesIn(fontsDir);
    if (brought.length === 0) return (fonts ??= openFonts(configured));
    const { familiesOf } = await import('../pdf/gallery-fonts.js');
    return openFonts([...configured, ...familiesOf(brought, files)]);
  };

  /**
   * The characters that no font has. Throws FONT_MISSING for one that the document refuses, if the files of its fonts
   * are all there.
   */
  const lackingIn = async (
    document: ExpandedDocument,
    files: ReadonlyMap<string, LoadedImage>,
  ): Promise<readonly string[]> => {
    const drawn = drawnCharactersOf(document);
    if (drawn.size === 0) return [];
    const brought = document.fonts ?? [];
    const isWhole = [...fontFilesOf({ fonts: brought }).keys()].every((address) => files.has(address));
    const lacking = (await fontsOf(isWhole ? brought : [], files)).lacking([...drawn.keys()], document.language.locale);
    const { missing, standInOf } = await import('../pdf/fonts.js');
    for (const character of isWhole ? lacking : [])
      if (standInOf(character) === undefined && (document.refuses?.(character) ?? true))
        throw missing(character, drawn.get(character) ?? 'schema.pages');
    return lacking.slice(0, REPLACED_MAX).map(firstOf);
  };

  const make = async (
    document: ExpandedDocument,
    { format, images, metadata }: DocumentJob & { kind: 'make' },
    tell: (warning: FieldError) => void,
  ): Promise<Uint8Array> => {
    switch (format) {
      case 'pdf': {
        const { makePdf } = await import('../pdf/make-pdf.js');
        return makePdf(document, images, metadata, limits, await fontsOf(document.fonts, images));
      }
      case 'excel': {
        const { makeWorkbook } = await import('../excel/make-workbook.js');
        return makeWorkbook(document, images, metadata, limits, tell);
      }
    }
  };

  return async (job: DocumentJob): Promise<Answer> => {
    const { input, format } = job;
    const document = compiledOf(input)(input.variables, input.environment, format);
    if (job.kind === 'image-sources') return { kind: 'image-sources', sources: imageSourcesOf(document, format) };
    if (job.kind === 'check')
      return { kind: 'checked', lacking: format === 'pdf' ? await lackingIn(document, job.images) : [] };
    const warnings: FieldError[] = [];
    const tell = (warning: FieldError): void => {
      if (warnings.length < WARNINGS_MAX) warnings.push(warning);
    };
    leftOutOfCharts(document, format).forEach(tell);
    const { noted, replaced } = notingReplaced(document, tell);
    const file = await make(noted, job, tell);
    return { kind: 'made', file, replaced: [...replaced], warnings, losses: document.losses?.() ?? [] };
  };
};

const REPLACED_MAX = 100;
const WARNINGS_MAX = 20;

/** Without the marks that stand above and below it. */
const firstOf = (character: string): string =>
  String.fromCodePoint(character.codePointAt(0) ?? 0).replace(/\p{Cs}/u, '\ufffd');

/** A copy of the document that notes up to REPLACED_MAX of the characters that are replaced in it. */
const notingReplaced = (
  document: ExpandedDocument,
  tell: (warning: FieldError) => void,
): Readonly<{ noted: ExpandedDocument; replaced: ReadonlySet<string> }> => {
  const replaced = new Set<string>();
  const refuses = (character: string, standIn?: string): boolean => {
    if (standIn !== undefined && !replaced.has(character))
      tell({
        field: 'schema.pages',
        message: `no font has ${character} (${codePointOf(character)}): ${standIn} stands in its place`,
      });
    const isRefused = standIn === undefined && (document.refuses?.(character) ?? true);
    if (!isRefused && replaced.size < REPLACED_MAX) replaced.add(firstOf(character));
    return isRefused;
  };
  return { noted: { ...document, refuses }, replaced };
};

/** In: the bounds in force. Out: renders mails, of which each revision is compiled once. */
const openMailRenderer = ({ limits }: WorkerSettings) => {
  let renderer: Promise<Renderer> | undefined;
  return async ({ input: { content, cacheKey, marks, email } }: EmailJob): Promise<Answer> => {
    renderer ??= import('../email/renderer.js').then(({ openRenderer }) => openRenderer({ limits }));
    const mails = await renderer;
    const render =
      cacheKey === undefined
        ? await mails.compileEmailInTurns(content, marks)
        : await mails.email(cacheKey, async () => content);
    return { kind: 'rendered', email: render({ ...email, budget: openBudget(limits) }) };
  };
};

const draw = async ({ input: { svg, drawing } }: SvgJob): Promise<Answer> => {
  const { drawSvg } = await import('../svg/draw.js');
  return { kind: 'drawn', png: await drawSvg(svg, drawing) };
};

const checkFont = async ({ input: { bytes } }: FontJob, { limits }: WorkerSettings): Promise<Answer> => {
  const { tryFont } = await import('../pdf/gallery-fonts.js');
  await tryFont(bytes, limits);
  return { kind: 'font-checked' };
};

const convert = async ({ input }: ConversionJob, { limits }: WorkerSettings): Promise<Answer> => {
  const { convertTemplate } = await import('../../../domain/rendering/import/convert.js');
  return { kind: 'converted', template: convertTemplate(input.source, limits) };
};

/** Keeps what is compiled by the key that names a revision for ever. */
const compilerOf = (limits: Limits): ((input: DocumentInput) => CompiledDocument) => {
  const compiled = boundedCache<string, CompiledDocument>({ entriesMax: REVISIONS_MAX });
  return ({ cacheKey, content }) =>
    cacheKey === undefined
      ? compileDocument(content, limits)
      : compiled.getOrMake(cacheKey, () => compileDocument(content, limits));
};

/** In: the settings, then a job. Out: its answer; a refusal is one. Other errors reject, which ends the process. */
export default (settings: WorkerSettings) => {
  const make = openMaker(settings);
  const render = openMailRenderer(settings);
  return async (job: Job): Promise<Answer> => {
    try {
      switch (job.kind) {
        case 'prepare':
          await make(sampleJob);
          return { kind: 'prepared' };
        case 'font':
          return await checkFont(job, settings);
        case 'email':
          return await render(job);
        case 'conversion':
          return await convert(job, settings);
        case 'svg':
          return await draw(job);
        case 'image-sources':
        case 'check':
        case 'make':
          return await make(job);
      }
    } catch (fault) {
      if (fault instanceof DomainError) return refused(fault);
      throw fault;
    }
  };
};
