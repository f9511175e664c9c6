/** The shapes that stored events must have, by the schemas of their types, and what an event is called that has another. */
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler';
import type { TObject, TSchema } from '@sinclair/typebox';
import { eventSchemas, type EventType } from '../domain/events.js';

export type Checks = Readonly<{
  data: TypeCheck<TSchema>;
  sealed: TypeCheck<TSchema> | undefined;
  /** Of a type whose sealed part is written as two lines of JSON: the envelope, and the rest. */
  envelope: Readonly<{ check: TypeCheck<TSchema>; fields: readonly string[] }> | undefined;
}>;
const compiled = new Map<EventType, Checks>();

/** Compiled on first use: a start pays only for the types that its log holds. */
export const checksOf = (type: EventType): Checks => {
  const known = compiled.get(type);
  if (known !== undefined) return known;
  const { data, sealed, envelope }: { data: TSchema; sealed?: TSchema; envelope?: TObject } = eventSchemas[type];
  const checks = {
    data: TypeCompiler.Compile(data),
    sealed: sealed === undefined ? undefined : TypeCompiler.Compile(sealed),
    envelope: envelope === undefined ? undefined : { check: TypeCompiler.Compile(envelope), fields: Object.keys(envelope.properties) },
  };
  compiled.set(type, checks);
  return checks;
};

/** The stored event is not what its name promises: it was changed, or a part of it is missing. */
export class UnreadableEvent extends Error {
  override readonly name = 'UnreadableEvent';
}

/** The stored name is none that this program knows: a newer one wrote the event. */
export class UnknownEvent extends Error {
  override readonly name = 'UnknownEvent';

  constructor(storedType: string) {
    super(`${storedType} is a type or version of event that this version of sealpost does not know: a newer one wrote it`);
  }
}

export const assertShape = (check: TypeCheck<TSchema>, value: unknown, what: string): void => {
  if (check.Check(value)) return;
  const first = check.Errors(value).First();
  throw new UnreadableEvent(`${what}${first?.path ?? ''}: ${first?.message ?? 'wrong shape'}`);
};
