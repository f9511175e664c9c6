/**
 * Pieces of stored events. They say which fields there are and of which type, and nothing about lengths or counts: an event that was
 * once accepted stays readable, whatever the API takes today. Lists of values are written out in each events.ts and only ever grow.
 */
import { Type, type Static, type TSchema } from '@sinclair/typebox';

export const text = Type.String();

/** Which of opens and clicks are recorded. */
export const StoredTracking = Type.Object({ opens: Type.Boolean(), clicks: Type.Boolean() });

export const StoredRecipient = Type.Object({ email: text, name: Type.Optional(text) });

/** One event of each of these schemas. `sealed` is what goes with the key of its stream. */
export type EventsOf<Schemas extends Readonly<Record<string, Readonly<{ data: TSchema; sealed?: TSchema }>>>> = {
  [Name in keyof Schemas]: Readonly<{ type: Name; data: Static<Schemas[Name]['data']> }> &
    (Schemas[Name] extends { sealed: infer Sealed extends TSchema }
      ? Readonly<{ /** undefined once the key is destroyed */ sealed: Static<Sealed> | undefined }>
      : unknown);
}[keyof Schemas];
