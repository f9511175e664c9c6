/** The facts of one key that signs access tokens. A key serves one period, whose number names its stream. */
import { Type } from '@sinclair/typebox';
import { text, type EventsOf } from '../core/stored.js';

export const tokenKeyEventSchemas = {
  /** The public and the private part of an Ed25519 key, as JWK has them (`x` and `d`, RFC 8037). */
  TokenKeyMade: { data: Type.Object({ at: text, kid: text, publicKey: text }), sealed: Type.Object({ privateKey: text }) },
  /** Nothing is signed by it any more; the private part goes with the key of the stream. */
  TokenKeyRetired: { data: Type.Object({ at: text }) },
} as const;

export type TokenKeyEvent = EventsOf<typeof tokenKeyEventSchemas>;
