/** Asks the service for the preview of what is written, at each pause of typing; the latest wins. */
import { startTransition, useEffect, useMemo, useRef, useState } from 'react';
import type {
  PreviewAttachmentTemplateData,
  PreviewTemplateData,
  PreviewTemplateResponse,
  PreviewUnsavedAttachmentTemplateData,
  PreviewUnsavedAttachmentTemplateResponse,
  PreviewUnsavedBlockData,
  PreviewUnsavedBlockResponse,
  PreviewUnsavedTemplateData,
  PreviewUnsavedTemplateResponse,
} from '#api';
import { ApiFault, type FieldFault, operation, readFile } from '../api/client';
import type { Content, Kind } from './content';

const unsavedMail = operation<PreviewUnsavedTemplateData, PreviewUnsavedTemplateResponse>(
  'POST',
  '/api/templates/preview',
);
const unsavedBlock = operation<PreviewUnsavedBlockData, PreviewUnsavedBlockResponse>('POST', '/api/blocks/preview');
const unsavedDocument = operation<PreviewUnsavedAttachmentTemplateData, PreviewUnsavedAttachmentTemplateResponse>(
  'POST',
  '/api/templates/attachment/preview',
);
const storedMail = operation<PreviewTemplateData, PreviewTemplateResponse>('POST', '/api/templates/{id}/preview');

export type PreviewSettings = Readonly<{ locale?: string; timeZone?: string; format?: 'pdf' | 'excel' }>;

/** A preview as far as it can be shown, and the faults of the rest. `file`: a document. */
export type Shown = Readonly<{
  subject?: string | null;
  html?: string | null;
  text?: string | null;
  sizeBytes?: number;
  file?: Readonly<{ format: 'pdf' | 'excel'; bytes: Blob; name: string }>;
  outputs?: readonly string[];
  replaced?: readonly string[];
  emptyPaths: readonly string[];
  warnings: readonly FieldFault[];
  errors: readonly FieldFault[];
}>;

export type Asked = Readonly<{
  kind: Kind;
  teamId: string;
  id: string;
  content: Content;
  variables: Readonly<Record<string, unknown>>;
  settings: PreviewSettings;
  /** False: the preview is of what is stored. */
  canWrite: boolean;
}>;

/** Makes the preview show something else than the content, such as a part that the sample data hide. */
export type ShownAs = (
  content: Content,
  variables: Asked['variables'],
) => Readonly<{ content: Content; variables: Asked['variables'] }>;

export type Previewed = Readonly<{
  shown: Shown | undefined;
  fault: Error | undefined;
  /** The preview is of an earlier content. */
  isLate: boolean;
  /** Milliseconds of the last call. */
  tookMs: number | undefined;
}>;

const types = {
  pdf: 'application/pdf',
  excel: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const;

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));

const NOTHING = { emptyPaths: [], warnings: [], errors: [] } as const;

/** Rejects as `call` does. */
export const previewOnce = async (asked: Asked, signal: AbortSignal): Promise<Shown> => {
  const { kind, teamId, id, content, variables, settings, canWrite } = asked;
  const { format, ...language } = settings;
  const options = { teamId, signal };
  const given = { variables, ...language };
  if (kind === 'attachment') {
    const wanted = format === undefined ? {} : { format };
    if (!canWrite) {
      const data: PreviewAttachmentTemplateData = {
        url: '/api/templates/attachment/{id}/preview',
        path: { id },
        query: { variables: JSON.stringify(variables), ...language, ...wanted },
      };
      const bytes = await readFile(data, options);
      const made = bytes.type === types.pdf ? 'pdf' : 'excel';
      return { ...NOTHING, file: { format: made, bytes, name: String(content['name'] ?? 'document') } };
    }
    const made = await unsavedDocument({ body: { template: content, ...given, ...wanted } }, options);
    const { content: base64, format: shownFormat, name, ...told } = made;
    if (base64 === null || shownFormat === null) return told;
    const bytes = new Blob([bytesOf(base64)], { type: types[shownFormat] });
    return { ...told, file: { format: shownFormat, bytes, name: name ?? 'document' } };
  }
  if (kind === 'block') return unsavedBlock({ body: { block: content, ...given, marks: true } }, options);
  if (!canWrite) return { ...(await storedMail({ path: { id }, body: given }, options)), errors: [] };
  return unsavedMail({ body: { template: content, ...given, marks: true } }, options);
};

/** A mail is shown while it is typed, a document at a pause. */
const PAUSE_MS: Readonly<Record<Kind, number>> = { email: 120, block: 120, attachment: 400 };

/** Another tab of the person asked for a preview, or the service is busy. */
const AGAIN_MS = 1_200;
const AGAIN_MAX = 5;

const isPassing = (fault: unknown): fault is ApiFault =>
  fault instanceof ApiFault && (fault.code === 'PREVIEW_SUPERSEDED' || fault.status === 429 || fault.status === 503);

/** The values are compared by identity: a letter costs no walk through the content. */
export const usePreview = (asked: Asked & Readonly<{ shownAs: ShownAs | undefined }>): Previewed => {
  const [state, setState] = useState<Omit<Previewed, 'isLate'> & Readonly<{ of: object | undefined }>>({
    ...{ shown: undefined, fault: undefined, tookMs: undefined, of: undefined },
  });
  const { kind, id, teamId, variables, settings, canWrite, shownAs } = asked;
  const content = canWrite ? asked.content : undefined;
  const key = useMemo(
    () => ({ kind, id, teamId, content, variables, settings, shownAs }),
    [kind, id, teamId, content, variables, settings, shownAs],
  );
  const latest = useRef(asked);
  latest.current = asked;
  const isFirst = useRef(true);
  useEffect(() => {
    const end = new AbortController();
    const isUnseen = kind === 'block' && !canWrite;
    const run = async (tries: number): Promise<void> => {
      const began = performance.now();
      try {
        const { current } = latest;
        const as = current.shownAs?.(current.content, current.variables);
        const shown = await previewOnce({ ...current, ...as }, end.signal);
        const tookMs = performance.now() - began;
        // Letters typed meanwhile are drawn first.
        startTransition(() => setState({ shown, fault: undefined, tookMs, of: key }));
      } catch (fault) {
        if (end.signal.aborted) return;
        if (isPassing(fault) && tries < AGAIN_MAX)
          timer = setTimeout(() => void run(tries + 1), Math.max(AGAIN_MS, (fault.retryAfterS ?? 0) * 1_000));
        else
          setState(({ shown }) => ({
            ...{ shown, tookMs: undefined, of: key },
            fault: fault instanceof Error ? fault : new Error(String(fault)),
          }));
      }
    };
    let timer: ReturnType<typeof setTimeout> | undefined = isUnseen
      ? undefined
      : setTimeout(() => void run(0), isFirst.current ? 0 : PAUSE_MS[kind]);
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [key, kind, canWrite]);
  const { shown, fault, tookMs } = state;
  const isLate = state.of !== key;
  return useMemo(() => ({ shown, fault, tookMs, isLate }), [shown, fault, tookMs, isLate]);
};
