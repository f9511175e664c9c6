/**
 * Templates as JSON schemas, for editors and for the description of the API: derived from the tables that the check goes by. What the check takes the
 * schemas take, but for `null` in the place of what is left out; they never refuse what the service would save. Requests are not checked by them, because
 * the check names faults better.
 */
import type { TObject } from '@sinclair/typebox';
import { defaultLimits } from '../../domain/core/limits.js';
import type { Json, JsonObject } from '../../domain/core/json.js';
import { documentMedia, mailMedia } from '../../domain/rendering/media.js';
import type { PropKind } from '../../domain/rendering/props.js';
import { CreateAttachmentTemplateRequestSchema } from './attachment-templates.js';
import { CreateTemplateRequestSchema } from './templates.js';
import { componentDefinitions, componentId } from './components.js';
import { documentContent, emailContent } from './content.js';
import { columnOf, kindsOfMedium, nameOfKind, sharedKinds, type Medium } from './json-schema-props.js';
import { described, type Refer } from './parts.js';
import { valueDefinitions } from './variables.js';

const email: Medium = { name: 'Email', media: mailMedia, columnsMax: mailMedia.columnsMax };
const document: Medium = { name: 'Document', media: documentMedia(defaultLimits.excelColumnsMax), columnsMax: undefined };

const kindDefinitions = (medium: Medium, kinds: Readonly<Partial<Record<PropKind, JsonObject>>>): JsonObject =>
  Object.fromEntries(Object.entries(kinds).map(([kind, schema]): [string, Json] => [nameOfKind(kind as PropKind, medium), schema]));

const emailDefinitions = (refer: Refer): JsonObject => ({
  EmailContent: emailContent(email, refer),
  ...componentDefinitions(email, refer),
  EmailColumn: columnOf(email, refer),
  ...kindDefinitions(email, kindsOfMedium(email, refer)),
});

const documentDefinitions = (refer: Refer): JsonObject => ({
  ...documentContent(document, refer),
  ...componentDefinitions(document, refer),
  DocumentColumn: columnOf(document, refer),
  ...kindDefinitions(document, kindsOfMedium(document, refer)),
});

const sharedDefinitions = (refer: Refer): JsonObject => ({
  ...valueDefinitions(refer),
  ComponentId: componentId,
  ...kindDefinitions(email, sharedKinds(email, refer)),
});

/** All definitions of both kinds of templates. */
export const templateDefinitions = (refer: Refer): JsonObject => ({
  ...emailDefinitions(refer),
  ...documentDefinitions(refer),
  ...sharedDefinitions(refer),
});

/** What stands in the place of the parts of a body that are checked one by one. */
export const bodyMembers = (kind: TemplateKind, refer: Refer): JsonObject => ({
  variables: described({ type: 'array', items: refer('Variable') }, 'A plain array of variable definitions'),
  schema: refer(kind === 'email' ? 'EmailContent' : 'DocumentContent'),
  translations: refer('Translations'),
});

export const templateKinds = ['email', 'attachment'] as const;
export type TemplateKind = (typeof templateKinds)[number];

const bodies: Readonly<Record<TemplateKind, TObject>> = {
  email: CreateTemplateRequestSchema,
  attachment: CreateAttachmentTemplateRequestSchema,
};
const titles: Readonly<Record<TemplateKind, string>> = {
  email: 'Template of an email, for sealpost',
  attachment: 'Attachment template, for sealpost',
};

/** The body that makes a template, as the JSON schema of a file: for editors. */
export const templateJsonSchema = (kind: TemplateKind): JsonObject => {
  const refer: Refer = (name) => ({ $ref: `#/definitions/${name}` });
  const body = JSON.parse(JSON.stringify(bodies[kind])) as JsonObject;
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: titles[kind],
    ...body,
    properties: { ...(body['properties'] as JsonObject), ...bodyMembers(kind, refer) },
    definitions: used({ ...(kind === 'email' ? emailDefinitions(refer) : documentDefinitions(refer)), ...sharedDefinitions(refer) }),
  };
};

const bodyDefinitions = new Set(['EmailContent', 'DocumentContent', 'Variable', 'Translations']);

/** Those that another one, or the body, refers to. */
const used = (definitions: JsonObject): JsonObject => {
  const whole = JSON.stringify(definitions);
  return Object.fromEntries(
    Object.entries(definitions).filter(([name]) => bodyDefinitions.has(name) || whole.includes(`"#/definitions/${name}"`)),
  );
};
