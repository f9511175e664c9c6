/** A bulk send whose recipients stand in a file: a form (multipart/form-data, RFC 7578) in place of the JSON of the call. */
import { createHash } from 'node:crypto';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { SendBulkRequest } from '../../api/bulk.js';
import { SendBulkRequestSchema } from '../../api/bulk.js';
import { ColumnsSchema, type Columns } from '../../commands/recipients/columns.js';
import { faultWithLines } from '../../commands/bulk/recipients-of-file.js';
import { DomainError, invalid } from '../../domain/core/errors.js';
import { isJsonObject, type Json, type JsonObject } from '../../domain/core/json.js';
import type { Limits } from '../../domain/core/limits.js';
import { canonicalJson } from '../../shared/canonical-json.js';
import { callerOf, type HttpDeps } from '../server/context.js';
import { leaveOutNulls } from '../server/json/absent.js';
import { parseJsonBody } from '../server/json/body.js';
import { uploadSlots } from '../server/upload.js';
import { validationError } from '../server/validation.js';

type Deps = Pick<HttpDeps, 'commands' | 'limits' | 'limiter'>;

const isForm = (request: FastifyRequest): boolean => /^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '');

/** A hook before the body is read: a form takes a slot as every upload does. */
export const formSlots = (deps: Deps) => {
  const acquire = uploadSlots(deps);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (isForm(request)) await acquire(request, reply);
  };
};

/** Of the fields `request` and `columns`, each. */
const FIELD_BYTES_MAX = 1024 * 1024;

type Form = { request?: string; columns?: string; file?: Buffer };

const wrong = (message: string): DomainError => invalid('upload', '', message);
const SHAPE = 'must have the field `request` with the JSON of the call, one `file` with its recipients, and where wanted `columns`';

const readForm = async (request: FastifyRequest, { bodySizeBytesMax }: Pick<Limits, 'bodySizeBytesMax'>): Promise<Form> => {
  const form: Form = {};
  const bounds = { fileSize: bodySizeBytesMax, files: 2, fields: 3, fieldSize: FIELD_BYTES_MAX, parts: 4, headerPairs: 20 };
  try {
    for await (const part of request.parts({ limits: bounds })) {
      const { fieldname: name } = part;
      if (part.type === 'file') {
        if (name !== 'file' || form.file !== undefined) throw wrong(SHAPE);
        form.file = await part.toBuffer();
        if (part.file.truncated) throw invalid('upload', 'file', `has more than ${bodySizeBytesMax} bytes, the most that is read`);
      } else {
        if ((name !== 'request' && name !== 'columns') || form[name] !== undefined) throw wrong(SHAPE);
        if (part.valueTruncated) throw invalid('upload', name, `has more than ${FIELD_BYTES_MAX} bytes, the most that is read`);
        form[name] = String(part.value);
      }
    }
  } catch (fault) {
    // Nobody reads the rest; without this the request would wait for its reader.
    request.raw.unpipe();
    request.raw.resume();
    if (fault instanceof DomainError) throw fault;
    throw new DomainError('MALFORMED_REQUEST', 'The body is no well-formed multipart/form-data, or ended too early (RFC 7578).');
  }
  return form;
};

const fieldOf = (name: 'request' | 'columns', text: string, limits: Limits): JsonObject => {
  try {
    const value = parseJsonBody(Buffer.from(text), limits) as Json | undefined;
    if (isJsonObject(value)) return value;
  } catch (fault) {
    if (fault instanceof DomainError)
      throw invalid('upload', name, `is not the JSON that it must be (${fault.message.replace(/\.$/, '')})`);
    throw fault;
  }
  throw invalid('upload', name, 'must be a JSON object');
};

/** Where a form came: makes of it the body of the call, and remembers the line of each recipient. */
export const readRecipientsForm =
  ({ commands, limits }: Deps) =>
  async (request: FastifyRequest): Promise<void> => {
    if (!isForm(request)) return;
    const form = await readForm(request, limits);
    if (form.request === undefined || form.file === undefined) throw wrong(SHAPE);
    const call = fieldOf('request', form.request, limits);
    const columns = form.columns === undefined ? undefined : fieldOf('columns', form.columns, limits);
    if ('recipients' in call) throw invalid('upload', 'request.recipients', 'stands beside a file; give one of them');
    const checkColumns = request.compileValidationSchema(ColumnsSchema);
    if (columns !== undefined && !checkColumns(columns)) throw validationError(checkColumns.errors ?? [], 'columns');
    const { recipients, lines } = await commands.recipientsOfFile(callerOf(request), {
      bytes: form.file,
      columns: columns as Columns | undefined,
      request: templateNamed(call),
      parseLine: (line) => parseJsonBody(line, limits),
    });
    const body = { ...call, recipients };
    leaveOutNulls(SendBulkRequestSchema, body);
    request.body = body;
    request.recipientLines = lines;
    const sha256 = createHash('sha256').update(form.file).digest('hex');
    request.canonicalBody = canonicalJson({ request: call, columns: columns ?? null, file: sha256 });
  };

/** As far as it is of the right form; the check of the body follows. */
const templateNamed = ({ templateId, version }: JsonObject): Pick<SendBulkRequest, 'templateId' | 'version'> => ({
  templateId: typeof templateId === 'string' ? templateId : '',
  ...(version === 'published' || version === 'draft' || typeof version === 'number' ? { version } : {}),
});

/** What is wrong with a recipient of a file is told with its line. */
export const tellingLines = (fault: FastifyError, request: FastifyRequest): never => {
  const { recipientLines } = request;
  throw recipientLines === undefined || !(fault instanceof DomainError) ? fault : faultWithLines(fault, recipientLines);
};
