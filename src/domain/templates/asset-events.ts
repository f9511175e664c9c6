/** The facts of one file of the gallery. Its name and a hash of its content may tell of a person: they are sealed, as its bytes are. */
import { Type, type Static } from '@sinclair/typebox';
import { text, type EventsOf } from '../core/stored.js';

const Description = Type.Object({
  filename: text,
  /** Of the bytes as they were uploaded, hex. */
  sha256: text,
});
export type AssetDescription = Static<typeof Description>;

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
  /** Nobody sees it any more, and for some days it can be taken back. */
  AssetTrashed: { data: Type.Object({ at: text }) },
  AssetRestored: { data: Type.Object({ at: text }) },
  /** Gone for good: its key and its bytes are destroyed right after. */
  AssetDeleted: { data: Type.Object({ at: text }) },
} as const;

export type AssetEvent = EventsOf<typeof assetEventSchemas>;
export type AssetUploaded = Extract<AssetEvent, { type: 'AssetUploaded' }>;
