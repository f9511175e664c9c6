/**
 * The codec between events of the domain and their stored form. The stored name carries its version; the code knows
 * only the newest shape, and older shapes are upcast on read. Structure is checked on read, business rules are not.
 */
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler';
import type { TSchema } from '@sinclair/typebox';
import type { EventDefinition } from '../domain/core/event.js';
import { eventDefinitions, eventTypes, type EventType, type DomainEvent } from '../domain/events.js';
import { putTogether, recipientPartsOf, takenApart } from '../domain/email/recipient-parts.js';

/** The stored event is not what its name promises: it was changed, or a part of it is missing. */
export class UnreadableEvent extends Error {
  override readonly name = 'UnreadableEvent';
}

/** The stored name is none that this program knows: a newer one wrote the event. */
export class UnknownEvent extends Error {
  override readonly name = 'UnknownEvent';

  constructor(storedType: string) {
    super(
      `${storedType} is a type or version of event that this version of sealpost does not know: a newer one wrote it`,
    );
  }
}

type Payload = Readonly<{ data: unknown; sealed: unknown }>;

/** A stored name that is not written any more: the type that it is today, and what makes today's payload of it. */
export type EarlierVersion = Readonly<{ type: EventType; upcast: (payload: Payload) => Payload }>;

/** Every stored name, and so what a program can read and write. */
export type EventVersions = Readonly<{
  current: { readonly [Type in EventType]: string };
  /** By stored name. A name is never taken away. */
  earlier: Readonly<Record<string, EarlierVersion>>;
}>;

/** The stored name of each type: the type, and the version of its newest shape. */
export const current = Object.fromEntries(
  eventTypes.map((type) => [type, `${type}.v${eventDefinitions[type].version ?? 1}`]),
) as EventVersions['current'];

export const eventVersions: EventVersions = { current, earlier: {} };

/** Between events and their stored form, for a set of versions of which the current ones are written. */
export type Codec = Readonly<{
  /**
   * In: an event. Out: its stored name and JSON texts; `sealed` is the plain text to be sealed. Checked before it is
   * written.
   */
  encode: (event: DomainEvent) => Encoded;
  /** Like `encode`, but data that belongs to one recipient alone is encrypted in a part of its own. */
  encodeApart: (event: DomainEvent) => EncodedApart;
  /**
   * In: a stored name, its data as JSON text, its decrypted sealed part (undefined: there is none, or its key is
   * destroyed), whole or at least the first line of it where only the envelope is wanted: the event then has nothing
   * else of a sealed part that has one. Parts that are sealed apart are put together; a part without content is null.
   * Throws UnknownEvent for a name that is none of these versions, and UnreadableEvent for a wrong shape.
   */
  decode: (storedType: string, data: string, sealed: string | PlainApart | undefined, part?: SealedPart) => DomainEvent;
  /** Every stored name that is read as one of those types. */
  namesOf: (types: readonly EventType[]) => ReadonlySet<string>;
  /** Whether a stored name is one of these versions. */
  knows: (storedType: string) => boolean;
}>;

type Encoded = Readonly<{ type: string; data: string; sealed: string | undefined }>;

/**
 * The plain texts of a sealed part: what belongs to all, undefined for nothing, and to one recipient alone, by its
 * place in the email.
 */
export type PlainApart = Readonly<{ shared: string | undefined; own: ReadonlyMap<number, string> }>;

type EncodedApart = Encoded & Readonly<{ apart: PlainApart | undefined }>;

type Reader = Readonly<{ type: EventType; upcast: (payload: Payload) => Payload }>;

const asIs = (payload: Payload): Payload => payload;

export const makeCodec = ({ current: newest, earlier }: EventVersions): Codec => {
  const types = Object.keys(newest) as EventType[];
  const readers: Readonly<Record<string, Reader>> = {
    ...earlier,
    ...Object.fromEntries(types.map((type): [string, Reader] => [newest[type], { type, upcast: asIs }])),
  };
  // Those who read single streams name the same types, in the same array, each time.
  const names = new WeakMap<readonly EventType[], ReadonlySet<string>>();
  return {
    encode: (event) => encoded(payloadOf(newest, event)),
    encodeApart: (event) => encodedApart(payloadOf(newest, event)),
    decode: (storedType, data, sealed, part = 'whole') => {
      const reader = Object.hasOwn(readers, storedType) ? readers[storedType] : undefined;
      if (reader === undefined) throw new UnknownEvent(storedType);
      return decodeWith(reader, { storedType, data, sealed, part });
    },
    namesOf: (wanted) => {
      const known = names.get(wanted) ?? namesIn(readers, wanted);
      names.set(wanted, known);
      return known;
    },
    knows: (storedType) => Object.hasOwn(readers, storedType),
  };
};

/** The compiled schemas of one type of event. */
type Checks = Readonly<{
  data: TypeCheck<TSchema>;
  sealed: TypeCheck<TSchema> | undefined;
  /** For types whose sealed part is two lines of JSON: the envelope, and the rest. */
  envelope: Readonly<{ check: TypeCheck<TSchema>; fields: readonly string[] }> | undefined;
}>;

const compiled = new Map<EventType, Checks>();

/** Compiled on first use: a start pays only for the types that its log holds. */
const checksOf = (type: EventType): Checks => {
  const known = compiled.get(type);
  if (known !== undefined) return known;
  const { data, sealed, envelope }: EventDefinition = eventDefinitions[type];
  const checks = {
    data: TypeCompiler.Compile(data),
    sealed: sealed === undefined ? undefined : TypeCompiler.Compile(sealed),
    envelope:
      envelope === undefined
        ? undefined
        : { check: TypeCompiler.Compile(envelope), fields: Object.keys(envelope.properties) },
  };
  compiled.set(type, checks);
  return checks;
};

const assertShape = (check: TypeCheck<TSchema>, value: unknown, what: string): void => {
  if (check.Check(value)) return;
  const first = check.Errors(value).First();
  throw new UnreadableEvent(`${what}${first?.path ?? ''}: ${first?.message ?? 'wrong shape'}`);
};

const namesIn = (readers: Readonly<Record<string, Reader>>, wanted: readonly EventType[]): ReadonlySet<string> =>
  new Set(Object.entries(readers).flatMap(([name, { type }]) => (wanted.includes(type) ? [name] : [])));

/** How much is read of a sealed part that is sealed as envelope and rest. */
export type SealedPart = 'whole' | 'envelope';

const parse = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableEvent(`${what}: is not JSON`);
  }
};

/** Stored parts of an event, as values. */
type Written = Readonly<{
  event: DomainEvent;
  name: string;
  data: unknown;
  sealed: Readonly<Record<string, unknown>> | undefined;
  checks: Checks;
}>;

const payloadOf = (names: EventVersions['current'], event: DomainEvent): Written => {
  const checks = checksOf(event.type);
  assertShape(checks.data, event.data, event.type);
  const sealed = 'sealed' in event ? event.sealed : undefined;
  if (checks.sealed !== undefined) assertShape(checks.sealed, sealed, `${event.type} (sealed)`);
  return { event, name: names[event.type], data: event.data, sealed: sealed as Written['sealed'], checks };
};

const encoded = ({ name, data, sealed, checks }: Written): Encoded => ({
  type: name,
  data: JSON.stringify(data),
  sealed: sealed === undefined ? undefined : sealedText(sealed, checks.envelope?.fields),
});

const encodedApart = (written: Written): EncodedApart => {
  const { event, name, data, sealed, checks } = written;
  const parts = recipientPartsOf(event.type);
  if (parts === undefined || sealed === undefined) return { ...encoded(written), apart: undefined };
  const { shared, own } = takenApart(parts, data, sealed);
  const apart: PlainApart = {
    shared: shared && sealedText(shared, checks.envelope?.fields),
    own: new Map([...own].map(([place, value]) => [place, JSON.stringify(value)])),
  };
  return { type: name, data: JSON.stringify(data), sealed: undefined, apart };
};

/** JSON has no line break of its own, so a line is a part. */
const sealedText = (
  sealed: Readonly<Record<string, unknown>>,
  envelopeFields: readonly string[] | undefined,
): string => {
  if (envelopeFields === undefined) return JSON.stringify(sealed);
  const envelope: Record<string, unknown> = {};
  const rest: Record<string, unknown> = {};
  for (const field of Object.keys(sealed)) (envelopeFields.includes(field) ? envelope : rest)[field] = sealed[field];
  return `${JSON.stringify(envelope)}\n${JSON.stringify(rest)}`;
};

type StoredPayload = Readonly<{
  storedType: string;
  data: string;
  sealed: string | PlainApart | undefined;
  part: SealedPart;
}>;

const decodeWith = ({ type, upcast }: Reader, { storedType, data, sealed, part }: StoredPayload): DomainEvent => {
  const checks = checksOf(type);
  const values = parse(data, storedType);
  const payload = upcast({
    data: values,
    sealed:
      typeof sealed === 'object'
        ? parseApart(sealed, { type, storedType, values, checks, part })
        : sealed === undefined
          ? undefined
          : parseSealed(sealed, storedType, checks, part),
  });
  assertShape(checks.data, payload.data, storedType);
  if (checks.sealed === undefined) return { type, data: payload.data } as DomainEvent;
  const check = part === 'envelope' && checks.envelope !== undefined ? checks.envelope.check : checks.sealed;
  if (payload.sealed !== undefined) assertShape(check, payload.sealed, `${storedType} (sealed)`);
  return { type, data: payload.data, sealed: payload.sealed } as DomainEvent;
};

const parseSealed = (text: string, storedType: string, { envelope }: Checks, part: SealedPart): unknown => {
  const what = `${storedType} (sealed)`;
  if (envelope === undefined) return parse(text, what);
  const lineEnd = text.indexOf('\n');
  const first = parse(lineEnd < 0 ? text : text.slice(0, lineEnd), what);
  return part === 'envelope' || lineEnd < 0
    ? first
    : { ...(first as object), ...(parse(text.slice(lineEnd + 1), what) as object) };
};

type Apart = Readonly<{ type: EventType; storedType: string; values: unknown; checks: Checks; part: SealedPart }>;

const parseApart = ({ shared, own }: PlainApart, { type, storedType, values, checks, part }: Apart): unknown => {
  const parts = recipientPartsOf(type);
  if (parts === undefined)
    throw new UnreadableEvent(`${storedType} (sealed): nothing of it belongs to one recipient alone`);
  const what = `${storedType} (sealed)`;
  const parsed = new Map([...own].map(([place, text]) => [place, parse(text, what)]));
  const common =
    shared === undefined
      ? undefined
      : (parseSealed(shared, storedType, checks, part) as Readonly<Record<string, unknown>>);
  try {
    return putTogether(parts, values, { shared: common, own: parsed });
  } catch (cause) {
    assertShape(checks.data, values, storedType);
    throw new UnreadableEvent(`${what}: its parts do not fit its data`, { cause });
  }
};

/** Codec with all versions that this program reads and writes. */
export const codec = makeCodec(eventVersions);
export const { encode: encodeEvent, decode: decodeEvent, namesOf } = codec;
