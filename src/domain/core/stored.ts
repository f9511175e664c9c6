/**
 * Pieces of stored events. They say which fields there are and of which type, and nothing about lengths or counts: an event that was
 * once accepted stays readable, whatever the API takes today. Lists of values are written out in each events.ts and only ever grow.
 */
import { Type, type Static, type TSchema } from '@sinclair/typebox';

export const text = Type.String();

/** Which of opens and clicks are recorded. */
export const StoredTracking = Type.Object({ opens: Type.Boolean(), clicks: Type.Boolean() });

export const StoredRecipient = Type.Object({ email: text, name: Type.Optional(text) });

/** By the master key, of what is said to leave the log: whoever can write the log alone cannot say it. See event-log/retired-events.ts. */
export const RetirementMark = text;

/** What stands last in a stream of which nothing is counted any more, when its events leave the log. */
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
      mark: RetirementMark,
      /** Ids of those of which the members of the team were told. */
      told: Type.Optional(Type.Array(text)),
    }),
  },
} as const;

/** One event of each of these schemas. `sealed` is what goes with the key of its stream. */
export type EventsOf<Schemas extends Readonly<Record<string, Readonly<{ data: TSchema; sealed?: TSchema }>>>> = {
  [Name in keyof Schemas]: Readonly<{ type: Name; data: Static<Schemas[Name]['data']> }> &
    (Schemas[Name] extends { sealed: infer Sealed extends TSchema }
      ? Readonly<{ /** undefined once the key is destroyed */ sealed: Static<Sealed> | undefined }>
      : unknown);
}[keyof Schemas];
