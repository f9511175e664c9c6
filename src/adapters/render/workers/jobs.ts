/** The jobs of a document process and their answers, as plain data. */
import type { OutputFormat } from '../../../domain/rendering/content.js';
import { DomainError, type ErrorCode, type ErrorDetails, type FieldError } from '../../../domain/core/errors.js';
import type { Limits } from '../../../domain/core/limits.js';
import type {
  ApartEmail,
  ConversionInput,
  DocumentInput,
  DocumentMetadata,
  FontInput,
  LoadedImage,
  SvgInput,
} from '../../../domain/ports/generator.js';
import type { Loss } from '../../../domain/rendering/paths/losses.js';
import type { ImportedTemplate } from '../../../domain/rendering/import/convert.js';
import type { RenderedEmail } from '../../../domain/ports/renderer.js';
import { parseTeamId, assertDefined } from '../../../domain/core/ids.js';
import { emptyCompany } from '../../../domain/teams/state.js';

/** Settings that a process is started with. */
export type WorkerSettings = Readonly<{
  limits: Limits;
  /** More fonts than those that are shipped. */ fontsDir: string | undefined;
}>;

export type DocumentJob = Readonly<{ input: DocumentInput; format: OutputFormat }> &
  (
    | Readonly<{ kind: 'image-sources' }>
    | Readonly<{ kind: 'check'; images: ReadonlyMap<string, LoadedImage> }>
    | Readonly<{ kind: 'make'; images: ReadonlyMap<string, LoadedImage>; metadata: DocumentMetadata }>
  );
export type EmailJob = Readonly<{ kind: 'email'; input: ApartEmail }>;
export type SvgJob = Readonly<{ kind: 'svg'; input: SvgInput }>;
export type FontJob = Readonly<{ kind: 'font'; input: FontInput }>;
export type ConversionJob = Readonly<{ kind: 'conversion'; input: ConversionInput }>;
export type TeamJob = DocumentJob | EmailJob | SvgJob | FontJob | ConversionJob;
/** `prepare`: loads what documents need, for no team. */
export type Job = TeamJob | Readonly<{ kind: 'prepare' }>;

/** A DomainError as plain data: the class does not cross processes. */
type Refused = Readonly<{ kind: 'refused'; code: ErrorCode; message: string; details: ErrorDetails }>;
export type Answer =
  | Readonly<{ kind: 'image-sources'; sources: readonly string[] }>
  | Readonly<{ kind: 'checked'; lacking: readonly string[] }>
  | Readonly<{
      kind: 'made';
      file: Uint8Array;
      replaced: readonly string[];
      warnings: readonly FieldError[];
      losses: readonly Loss[];
    }>
  | Readonly<{ kind: 'rendered'; email: RenderedEmail }>
  | Readonly<{ kind: 'prepared' }>
  | Readonly<{ kind: 'font-checked' }>
  | Readonly<{ kind: 'converted'; template: ImportedTemplate }>
  | Readonly<{ kind: 'drawn'; png: Uint8Array | undefined }>
  | Refused;

export const refused = ({ code, message, details }: DomainError): Refused => ({
  kind: 'refused',
  code,
  message,
  details,
});

export const errorOf = ({ code, message, details }: Refused): DomainError => new DomainError(code, message, details);

const sampleHtml =
  '<h1>Title</h1><p>Text with <strong>bold</strong>, <em>slanted</em>, <strong><em>both</em></strong> and a <a href="https://example.com">link</a>.</p><ul><li>Item</li></ul>';

/**
 * The document that a process makes before its first job: it has what most documents have, so that their code is loaded
 * and was run once.
 */
export const sampleJob: DocumentJob & { kind: 'make' } = {
  kind: 'make',
  format: 'pdf',
  images: new Map(),
  metadata: { title: 'Sample', author: 'sealpost', createdAt: '2026-01-01T00:00:00.000Z' },
  input: {
    teamId: assertDefined(parseTeamId('00000000-0000-4000-8000-000000000000'), 'team'),
    cacheKey: 'sample',
    variables: { rows: Array.from({ length: 3 }, (_, at) => ({ name: `Row ${at}`, count: at + 0.5 })) },
    environment: { at: '2026-01-01T00:00:00.000Z', company: emptyCompany },
    content: {
      variables: [],
      schema: {
        outputFormats: ['pdf'],
        pages: [
          {
            pageId: 'sample',
            pageName: 'Sample',
            sections: [
              {
                id: 'sample',
                type: 'body',
                components: [
                  { id: 'text', type: 'rich-text', content: sampleHtml },
                  {
                    id: 'rows',
                    type: 'table',
                    props: {
                      dataSource: 'rows',
                      columns: [
                        { header: 'Name', content: '{{item.name}}' },
                        { header: 'Count', content: '{{item.count}}', type: 'number' },
                      ],
                    },
                  },
                ],
              },
            ],
          },
        ],
      },
    },
  },
};
