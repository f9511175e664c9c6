/** Assets as callers see them: what makes one, and what is shown of it. */
import { Type, type Static } from '@sinclair/typebox';
import { closed, DeletedAt } from '../core/common.js';

export const CreateAssetRequestSchema = Type.Object(
  {
    filename: Type.String({
      minLength: 1,
      maxLength: 1_024,
      description: 'Made safe, and given the extension of its type where it has another',
    }),
    content: Type.String({ description: 'Base64 of the file' }),
  },
  closed,
);
export type CreateAssetRequest = Static<typeof CreateAssetRequestSchema>;

const pixels = Type.Optional(Type.Integer({ description: 'In pixels; pictures only' }));

export const AssetRecordSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    filename: Type.String(),
    contentType: Type.String({ description: 'Told from the bytes' }),
    sizeBytes: Type.Integer(),
    sha256: Type.String({ description: 'Of the bytes, hexadecimal' }),
    width: pixels,
    height: pixels,
    createdAt: Type.String({ format: 'date-time' }),
    deletedAt: DeletedAt,
  },
  closed,
);
export type AssetRecord = Static<typeof AssetRecordSchema>;
