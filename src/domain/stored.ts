/**
 * Pieces of stored events. They say which fields there are and of which type, and nothing about lengths or counts: an event that was
 * once accepted stays readable, whatever the API takes today. Lists of values are written out in each events.ts and only ever grow.
 */
import { Type } from '@sinclair/typebox';

export const text = Type.String();

export const StoredRecipient = Type.Object({ email: text, name: Type.Optional(text) });
