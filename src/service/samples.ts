/**
 * The samples: templates, and calls that use them, as JSON files of the folder `samples`. A client may post each file
 * as it is.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  CreateAttachmentTemplateRequest,
  CreateBlockRequest,
  CreateTemplateRequest,
} from '../api/templates/templates.js';
import type { Samples } from '../commands/ops/first-start.js';
import { accountMailKinds } from '../commands/email/service-mails.js';
import type { JsonObject } from '../domain/core/json.js';
import { programDirectory } from './version.js';

/** The first start makes these before the templates that name them. */
const BLOCKS = ['letter'] as const;

/** In the order in which the first start makes them. */
const EMAILS = [
  'sign-in-code',
  'order-confirmation',
  'shipping-notice',
  'offer',
  'ticket',
  'monthly-report',
  'password-reset',
  'invitation',
  'news',
] as const;

const ATTACHMENTS = ['invoice', 'shipping-label', 'offer', 'ticket', 'monthly-report'] as const;

const read = (path: string): unknown =>
  JSON.parse(readFileSync(join(programDirectory, 'samples', `${path}.json`), 'utf8'));

/** The templates of the first team. */
export const readSamples = (): Samples => ({
  blocks: BLOCKS.map((slug) => read(`blocks/${slug}`) as CreateBlockRequest),
  emails: EMAILS.map((slug) => read(`emails/${slug}`) as CreateTemplateRequest),
  attachments: ATTACHMENTS.map((slug) => read(`attachments/${slug}`) as CreateAttachmentTemplateRequest),
});

/** The templates of the mails that the service sends about accounts. */
export const readAccountSamples = (): readonly CreateTemplateRequest[] =>
  accountMailKinds.map((kind) => read(`accounts/${kind}`) as CreateTemplateRequest);

/**
 * In: the path of a call below `samples/calls`, such as `emails/offer`. Out: a send call, or the preview of an
 * attachment template.
 */
export const readSampleCall = (path: string): JsonObject & Readonly<{ variables: JsonObject }> =>
  read(`calls/${path}`) as JsonObject & Readonly<{ variables: JsonObject }>;
