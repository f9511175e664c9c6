/** Events of templates (of emails and of attachments), of the slugs that name templates, and of the assets in a gallery. */
import { Type, type Static } from '@sinclair/typebox';
import { text, type EventsOf, StoredRecipient, StoredTracking } from '../core/stored.js';
import { oneOf } from '../core/schema.js';

/** Frozen: what was ever written. */
const templateKinds = ['email', 'attachment'] as const;
export type TemplateKind = (typeof templateKinds)[number];

const common = {
  name: text,
  description: text,
  variables: Type.Array(Type.Unknown()),
  schema: Type.Unknown(),
  locale: text,
  timeZone: text,
  /** True where a send fails for a path without a value. */
  strictVariables: Type.Optional(Type.Boolean()),
  /** By language the texts of that language, by the template's own; absent where it has none. */
  translations: Type.Optional(Type.Record(text, Type.Record(text, text))),
};

/** One revision of the draft of an email template: everything that its author writes. */
const EmailDraftSchema = Type.Object({
  ...common,
  subject: text,
  from: Type.Union([StoredRecipient, Type.Null()]),
  /** The list that recipients can unsubscribe from; absent for none. */
  unsubscribeList: Type.Optional(text),
  /** Absent where the setting of the team applies. */
  tracking: Type.Optional(StoredTracking),
});
export type EmailDraft = Static<typeof EmailDraftSchema>;

const StoredFont = Type.Object({
  family: text,
  /** `asset:` and an id, as the others. */
  regular: text,
  bold: Type.Optional(text),
  italic: Type.Optional(text),
  boldItalic: Type.Optional(text),
});

/** One revision of the draft of an attachment template. A document has no sender and no subject; `schema` holds its formats. */
const AttachmentDraftSchema = Type.Object({
  ...common,
  schema: Type.Object({
    outputFormats: Type.Array(oneOf(['pdf', 'excel'])),
    pages: Type.Array(Type.Unknown()),
    missingCharacters: Type.Optional(oneOf(['refuse', 'replace'])),
    fonts: Type.Optional(Type.Array(StoredFont)),
  }),
});
export type AttachmentDraft = Static<typeof AttachmentDraftSchema>;

export type TemplateDraft = EmailDraft | AttachmentDraft;

export const templateEventSchemas = {
  /** Without a kind it is an email. An attachment has a short id, from which its id is derived. */
  TemplateCreated: { data: Type.Object({ at: text, slug: text, kind: Type.Optional(oneOf(templateKinds)), shortId: Type.Optional(text) }) },
  /** `revision` counts from 1 and names this content for ever. */
  TemplateDraftSaved: {
    data: Type.Object({ at: text, revision: Type.Integer(), draft: Type.Union([EmailDraftSchema, AttachmentDraftSchema]) }),
  },
  TemplatePublished: { data: Type.Object({ at: text, version: Type.Integer(), revision: Type.Integer() }) },
  TemplateSlugChanged: { data: Type.Object({ at: text, slug: text }) },
  TemplateDeleted: { data: Type.Object({ at: text }) },
  /** Restored within the days in which that can be done. */
  TemplateRestored: { data: Type.Object({ at: text }) },
  /** The template is hidden for good: it cannot be restored. */
  TemplateRemoved: { data: Type.Object({ at: text }) },
} as const;

export const templateSlugEventSchemas = {
  TemplateSlugClaimed: { data: Type.Object({ at: text, templateId: text }) },
  TemplateSlugReleased: { data: Type.Object({ at: text, templateId: text }) },
} as const;

export type TemplateEvent = EventsOf<typeof templateEventSchemas>;
export type TemplateSlugEvent = EventsOf<typeof templateSlugEventSchemas>;

const Description = Type.Object({
  filename: text,
  /** SHA-256 of the bytes as they were uploaded, hex. */
  sha256: text,
});
export type AssetDescription = Static<typeof Description>;

/** Events of one asset. Its name and a hash of its content may tell of a person: they are sealed, as its bytes are. */
export const assetEventSchemas = {
  AssetUploaded: {
    data: Type.Object({
      at: text,
      contentType: text,
      sizeBytes: Type.Integer(),
      /** In pixels, of pictures that say so. */
      width: Type.Optional(Type.Integer()),
      height: Type.Optional(Type.Integer()),
      /** SHA-256 of the sealed bytes in the files port; their context is `asset`. */
      file: text,
    }),
    sealed: Description,
  },
  /** The asset is hidden, and for some days it can be restored. */
  AssetTrashed: { data: Type.Object({ at: text }) },
  AssetRestored: { data: Type.Object({ at: text }) },
  /** Gone for good: its key and its bytes are destroyed right after. */
  AssetDeleted: { data: Type.Object({ at: text }) },
} as const;

export type AssetEvent = EventsOf<typeof assetEventSchemas>;
export type AssetUploaded = Extract<AssetEvent, { type: 'AssetUploaded' }>;
