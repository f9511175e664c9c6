/**
 * Events beyond every limit of the API: what was once accepted is read and folded for ever, whatever requests may hold
 * today.
 */
import { Value } from '@sinclair/typebox/value';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { RecipientSchema } from '../../src/api/core/common.js';
import { apiKeyDecider } from '../../src/domain/keys/decider.js';
import { assetDecider } from '../../src/domain/templates/asset.js';
import { attachmentTemplateDecider } from '../../src/domain/templates/attachment-template.js';
import { emailDecider } from '../../src/domain/email/decider.js';
import type { DomainEvent } from '../../src/domain/events.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { evolveTeam } from '../../src/domain/teams/state.js';
import { templateDecider } from '../../src/domain/templates/email-template.js';
import { decodeEvent, encodeEvent } from '../../src/event-log/codec.js';

type Golden = Readonly<{ stored: Readonly<{ type: string; data: unknown; sealed?: unknown }> }>;

/** Compiled tests lie in build/test/event-log. */
const folder = fileURLToPath(new URL('../../../test/golden/events-beyond-limits/', import.meta.url));
const read = (file: string): Golden => JSON.parse(readFileSync(`${folder}${file}.json`, 'utf8')) as Golden;
const files = readdirSync(folder)
  .map((file) => file.replace(/\.json$/, ''))
  .sort();

/** An array stands for lines of JSON: the envelope and the rest. */
const linesOf = ({ sealed }: Golden['stored']): readonly unknown[] | undefined =>
  sealed === undefined ? undefined : Array.isArray(sealed) ? (sealed as readonly unknown[]) : [sealed];

const decode = (file: string): DomainEvent => {
  const { stored } = read(file);
  const sealed = linesOf(stored)
    ?.map((line) => JSON.stringify(line))
    .join('\n');
  return decodeEvent(stored.type, JSON.stringify(stored.data), sealed);
};

const eventOf = <Type extends DomainEvent['type']>(file: string, type: Type): Extract<DomainEvent, { type: Type }> => {
  const event = decode(file);
  if (event.type !== type) throw new Error(`${file} holds ${event.type}`);
  return event as Extract<DomainEvent, { type: Type }>;
};

/** Every type with a field that a request fills. */
const expected = [
  'ApiKeyCreated.v1',
  'AssetUploaded.v1',
  'EmailQueued.v1',
  'EmailRetried.v1',
  'EmailScheduled.v1',
  'EmailSent.v1',
  'TeamCreated.v1',
  'TeamSettingsChanged.v1',
  'TemplateCreated.v1',
  'TemplateDraftSaved.v1',
  'TemplateDraftSaved.v1-of-attachment',
  'TemplateSlugChanged.v1',
];

void t.test('each of them is decoded as it was written, and could be written again', async (t) => {
  t.same(files, expected);
  for (const file of files) {
    const { stored } = read(file);
    const event = decode(file) as Readonly<{ data: unknown; sealed?: unknown }>;
    t.strictSame(event.data, stored.data, file);
    t.strictSame(event.sealed, linesOf(stored) && Object.assign({}, ...linesOf(stored)!), `${file} (sealed)`);
    t.strictSame(JSON.parse(encodeEvent(decode(file)).data), stored.data, `${file} is written again`);
  }
});

void t.test('they are beyond what the API takes', async (t) => {
  const { data, sealed } = eventOf('EmailQueued.v1', 'EmailQueued');
  const { from, recipients, subject, headers, attachments, metadata } = sealed!;
  t.equal(from.name?.length, defaultLimits.displayNameCharsMax + 1);
  t.notOk(Value.Check(RecipientSchema, from), 'a request with this name is refused');
  t.ok(recipients.length > defaultLimits.recipientsMax);
  t.ok(recipients[0]!.email.length > 512);
  t.ok(subject.length > defaultLimits.subjectCharsMax);
  t.ok(data.tags.length > defaultLimits.tagsMax && data.tags[0]!.length > defaultLimits.tagCharsMax);
  t.ok(Object.keys(headers).length > defaultLimits.customHeadersMax);
  t.ok(headers['X-1']!.length > defaultLimits.headerValueCharsMax);
  t.ok(
    attachments.length > defaultLimits.attachmentsMax &&
      attachments[0]!.sizeBytes > defaultLimits.attachmentSizeBytesMax,
  );
  t.ok(JSON.stringify(metadata).length > defaultLimits.metadataSizeBytesMax);

  const { draft } = eventOf('TemplateDraftSaved.v1', 'TemplateDraftSaved').data;
  t.ok(draft.name.length > defaultLimits.templateNameCharsMax);
  t.ok(draft.description.length > defaultLimits.templateDescriptionCharsMax);
  t.ok(draft.variables.length > defaultLimits.templateVariablesMax);
  t.ok(eventOf('TemplateCreated.v1', 'TemplateCreated').data.slug.length > defaultLimits.templateSlugCharsMax);
  t.ok(eventOf('ApiKeyCreated.v1', 'ApiKeyCreated').data.name.length > defaultLimits.apiKeyNameCharsMax);
  t.ok(eventOf('ApiKeyCreated.v1', 'ApiKeyCreated').data.rateLimit! > defaultLimits.apiKeyRateLimitMax);
  t.ok(eventOf('AssetUploaded.v1', 'AssetUploaded').data.sizeBytes > defaultLimits.assetStorageBytesMax);
  t.ok(eventOf('EmailRetried.v1', 'EmailRetried').data.idempotencyKey!.length > defaultLimits.idempotencyKeyCharsMax);
});

void t.test('they are folded as any other', async (t) => {
  const queued = emailDecider.evolve(undefined, eventOf('EmailQueued.v1', 'EmailQueued'));
  t.equal(emailDecider.evolve(queued, eventOf('EmailSent.v1', 'EmailSent'))?.status, 'sent');
  const created = eventOf('TemplateCreated.v1', 'TemplateCreated');
  const drafted = templateDecider.evolve(
    templateDecider.evolve(templateDecider.initialState, created),
    eventOf('TemplateDraftSaved.v1', 'TemplateDraftSaved'),
  );
  t.equal(drafted.template?.draft.from?.name?.length, defaultLimits.displayNameCharsMax + 1);
  const attachment = attachmentTemplateDecider.evolve(
    attachmentTemplateDecider.evolve(attachmentTemplateDecider.initialState, created),
    eventOf('TemplateDraftSaved.v1-of-attachment', 'TemplateDraftSaved'),
  );
  t.equal(attachment.template?.draft.schema.pages.length, 60);
  t.equal(assetDecider.evolve(undefined, eventOf('AssetUploaded.v1', 'AssetUploaded'))?.sizeBytes, 50_000_000_000);
  t.same(
    apiKeyDecider.evolve(undefined, eventOf('ApiKeyCreated.v1', 'ApiKeyCreated'))?.permissions,
    ['emails:send', 'emails:send', 'emails:delete'],
    'a permission that the program does not know allows nothing',
  );
  t.equal(evolveTeam(undefined, eventOf('TeamCreated.v1', 'TeamCreated'))?.settings.name.length, 3_000);
});
