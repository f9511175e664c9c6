/** The facts of one email template, and of the slugs that name templates. */
import { Type, type Static } from '@sinclair/typebox';
import { RecipientSchema } from './schema.js';

const text = Type.String();

/** One revision of the draft: everything that its author writes. */
const Draft = Type.Object({
  name: text,
  description: text,
  subject: text,
  from: Type.Union([RecipientSchema, Type.Null()]),
  variables: Type.Array(Type.Unknown()),
  schema: Type.Unknown(),
  locale: text,
  timeZone: text,
});
export type TemplateDraft = Static<typeof Draft>;

export const templateEventSchemas = {
  TemplateCreated: { data: Type.Object({ at: text, slug: text }) },
  /** `revision` counts from 1 and names this content for ever. */
  TemplateDraftSaved: { data: Type.Object({ at: text, revision: Type.Integer(), draft: Draft }) },
  TemplatePublished: { data: Type.Object({ at: text, version: Type.Integer(), revision: Type.Integer() }) },
  TemplateSlugChanged: { data: Type.Object({ at: text, slug: text }) },
  TemplateDeleted: { data: Type.Object({ at: text }) },
  TemplateSlugClaimed: { data: Type.Object({ at: text, templateId: text }) },
  TemplateSlugReleased: { data: Type.Object({ at: text, templateId: text }) },
} as const;

type Schemas = typeof templateEventSchemas;
type EventOf<Name extends keyof Schemas> = Readonly<{ type: Name; data: Static<Schemas[Name]['data']> }>;

export type TemplateSlugEvent = EventOf<'TemplateSlugClaimed'> | EventOf<'TemplateSlugReleased'>;
export type TemplateEvent = Exclude<{ [Name in keyof Schemas]: EventOf<Name> }[keyof Schemas], TemplateSlugEvent>;
