/** What stands last in a stream of which nothing is counted any more, when its events leave the log. */
import { Type } from '@sinclair/typebox';
import { text } from './stored.js';

export const retirementEventSchemas = {
  /**
   * The first `first` events of the stream leave the log. Of those from revision `from` on: `hashes`, in their order, stood as the
   * `ordinals`-th events in it. Of a long stream several of these tell, and only once the last of them is there does anything leave.
   */
  StreamRetired: {
    data: Type.Object({
      at: text,
      first: Type.Integer(),
      from: Type.Integer(),
      ordinals: Type.Array(Type.Integer()),
      hashes: Type.Array(text),
      /** Ids of those of which the members of the team were told. */
      told: Type.Optional(Type.Array(text)),
    }),
  },
} as const;
