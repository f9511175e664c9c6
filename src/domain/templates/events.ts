/**
 * Events of templates (of emails and of attachments) and of blocks, of the slugs that name templates, and of the assets in a gallery.
 */
import { Type, type Static } from '@sinclair/typebox';
import { text, StoredRecipient, StoredTracking } from '../core/stored-schemas.js';
import { oneOf } from '../core/schema.js';
import { event, type EventDefinitions, type EventsOf } from '../core/event.js';

/** Frozen: what was ever written. */
const templateKinds = ['email', 'attachment', 'block'] as const;
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

/**
 * One revision of the draft of an attachment template. A document has no sender and no subject; `schema` holds its
 * formats.
 */
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

/** Outputs that a block can be shown in. */
const storedOutput = oneOf(['email', 'pdf', 'excel']);

/**
 * One revision of the draft of a block: `schema` holds its components, or the sections of a layout. A block has the
 * time zone of the template that includes it; `locale` is the language of its own texts.
 */
const BlockDraftSchema = Type.Object({ ...common, schema: Type.Unknown(), outputs: Type.Array(storedOutput) });
export type BlockDraft = Static<typeof BlockDraftSchema>;

export type TemplateDraft = EmailDraft | AttachmentDraft | BlockDraft;

export const templateEvents = {
  /** Without a kind it is an email. An attachment has a short id, from which its id is derived. A block is a kind, too. */
  TemplateCreated: {
    data: Type.Object({
      at: text,
      slug: text,
      kind: Type.Optional(oneOf(templateKinds)),
      shortId: Type.Optional(text),
    }),
    audit: { category: 'settings', action: 'template.created' },
    activity: 'template.created',
  },
  /** `revision` counts from 1 and names this content for ever. */
  TemplateDraftSaved: {
    data: Type.Object({
      at: text,
      revision: Type.Integer(),
      /** The actor who saved it; absent from older events. */
      by: Type.Optional(text),
      draft: Type.Union([EmailDraftSchema, AttachmentDraftSchema, BlockDraftSchema]),
    }),
  },
  TemplatePublished: event({
    data: Type.Object({ at: text, version: Type.Integer(), revision: Type.Integer() }),
    audit: { category: 'settings', action: 'template.published', detail: ({ version }) => `version ${version}` },
    activity: 'template.published',
  }),
  TemplateSlugChanged: {
    data: Type.Object({ at: text, slug: text }),
    audit: { category: 'settings', action: 'template.slug_changed' },
    activity: 'template.changed',
  },
  TemplateDeleted: {
    data: Type.Object({ at: text }),
    audit: { category: 'settings', action: 'template.deleted' },
    activity: 'template.deleted',
  },
  /** Restored within the days in which that can be done. */
  TemplateRestored: {
    data: Type.Object({ at: text }),
    audit: { category: 'settings', action: 'template.restored' },
    activity: 'template.restored',
  },
  /** The template is hidden for good: it cannot be restored. */
  TemplateRemoved: { data: Type.Object({ at: text }) },
} as const satisfies EventDefinitions;

export const templateSlugEvents = {
  TemplateSlugClaimed: { data: Type.Object({ at: text, templateId: text }) },
  TemplateSlugReleased: { data: Type.Object({ at: text, templateId: text }) },
} as const satisfies EventDefinitions;

export type TemplateEvent = EventsOf<typeof templateEvents>;
export type TemplateSlugEvent = EventsOf<typeof templateSlugEvents>;

const Description = Type.Object({
  filename: text,
  /** SHA-256 of the bytes as they were uploaded, hex. */
  sha256: text,
});
export type AssetDescription = Static<typeof Description>;

/** Events of one asset. Its name and a hash of its content may tell of a person: they are sealed, as its bytes are. */
export const assetEvents = {
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
    audit: { category: 'settings', action: 'asset.uploaded' },
    activity: 'asset.uploaded',
  },
  /** The asset is hidden, and for some days it can be restored. */
  AssetTrashed: {
    data: Type.Object({ at: text }),
    audit: { category: 'settings', action: 'asset.deleted' },
    activity: 'asset.deleted',
  },
  AssetRestored: {
    data: Type.Object({ at: text }),
    audit: { category: 'settings', action: 'asset.restored' },
    activity: 'asset.restored',
  },
  /** Gone for good: its key and its bytes are destroyed right after. */
  AssetDeleted: {
    data: Type.Object({ at: text }),
    erases: true,
    audit: { category: 'settings', action: 'asset.removed', ofCallers: true },
  },
} as const satisfies EventDefinitions;

export type AssetEvent = EventsOf<typeof assetEvents>;
export type AssetUploaded = Extract<AssetEvent, { type: 'AssetUploaded' }>;

/** The events of each kind of stream. */
export const templateStreams = {
  template: templateEvents,
  attachmentTemplate: templateEvents,
  templateSlug: templateSlugEvents,
  attachmentTemplateSlug: templateSlugEvents,
  block: templateEvents,
  blockSlug: templateSlugEvents,
  asset: assetEvents,
} as const;
