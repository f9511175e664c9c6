/**
 * Between events as the code knows them and as they are stored. The stored name carries its version; the code knows only
 * the newest shape, and older ones are upcast on read. Structure is checked on read, business rules are not.
 */
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler';
import type { TObject, TSchema } from '@sinclair/typebox';
import { eventSchemas, type DomainEvent, type EventMetadata, type EventType } from '../domain/events.js';

/** The name under which each type is written now. */
export const current: { readonly [Type in EventType]: string } = {
  EmailQueued: 'EmailQueued.v1',
  EmailScheduled: 'EmailScheduled.v1',
  EmailReleased: 'EmailReleased.v1',
  DeliveryAttempted: 'DeliveryAttempted.v1',
  EmailSent: 'EmailSent.v1',
  EmailDeferred: 'EmailDeferred.v1',
  EmailBounced: 'EmailBounced.v1',
  EmailFailed: 'EmailFailed.v1',
  EmailDelivered: 'EmailDelivered.v1',
  EmailRetried: 'EmailRetried.v1',
  EmailCancelled: 'EmailCancelled.v1',
  EmailDeleted: 'EmailDeleted.v1',
  EmailArchived: 'EmailArchived.v1',
  TemplateCreated: 'TemplateCreated.v1',
  TemplateDraftSaved: 'TemplateDraftSaved.v1',
  TemplatePublished: 'TemplatePublished.v1',
  TemplateSlugChanged: 'TemplateSlugChanged.v1',
  TemplateDeleted: 'TemplateDeleted.v1',
  TemplateRestored: 'TemplateRestored.v1',
  TemplateSlugClaimed: 'TemplateSlugClaimed.v1',
  TemplateSlugReleased: 'TemplateSlugReleased.v1',
  AssetUploaded: 'AssetUploaded.v1',
  AssetDeleted: 'AssetDeleted.v1',
  ApiKeyCreated: 'ApiKeyCreated.v1',
  ApiKeyUsed: 'ApiKeyUsed.v1',
  ApiKeyRevoked: 'ApiKeyRevoked.v1',
  TeamCreated: 'TeamCreated.v1',
  TeamSettingsChanged: 'TeamSettingsChanged.v1',
  InstanceInitialised: 'InstanceInitialised.v1',
  LossAccepted: 'LossAccepted.v1',
  LedgerSealed: 'LedgerSealed.v1',
};

type Payload = { data: unknown; sealed: unknown };
/** How a stored name is read: the type it is today, and what turns its payload into today's shape. */
type Upcaster = Readonly<{ type: EventType; upcast: (payload: Payload) => Payload }>;

const asIs = (payload: Payload): Payload => payload;

/** Every name ever written. A name is never taken away. */
export const upcasters: Readonly<Record<string, Upcaster>> = Object.fromEntries(
  (Object.keys(current) as EventType[]).map((type) => [current[type], { type, upcast: asIs }]),
);

/** How much is read of a sealed part that is sealed as envelope and rest. */
export type SealedPart = 'whole' | 'envelope';

type Checks = Readonly<{
  data: TypeCheck<TSchema>;
  sealed: TypeCheck<TSchema> | undefined;
  /** Of a type whose sealed part is written as two lines of JSON: the envelope, and the rest. */
  envelope: Readonly<{ check: TypeCheck<TSchema>; fields: readonly string[] }> | undefined;
}>;
const compiled = new Map<EventType, Checks>();

/** Compiled on first use: a start pays only for the types that its log holds. */
const checksOf = (type: EventType): Checks => {
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

/** The stored event is not what its name promises: the log was written by a newer version, or changed. */
export class UnreadableEvent extends Error {
  override readonly name = 'UnreadableEvent';
}

const assertShape = (check: TypeCheck<TSchema>, value: unknown, what: string): void => {
  if (check.Check(value)) return;
  const first = check.Errors(value).First();
  throw new UnreadableEvent(`${what}${first?.path ?? ''}: ${first?.message ?? 'wrong shape'}`);
};

const parse = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableEvent(`${what}: is not JSON`);
  }
};

/** In: an event. Out: its stored name and JSON texts; `sealed` is the plain text to be sealed. Checked before it is written. */
export const encodeEvent = (event: DomainEvent): { type: string; data: string; sealed: string | undefined } => {
  const checks = checksOf(event.type);
  assertShape(checks.data, event.data, event.type);
  const sealed = 'sealed' in event ? event.sealed : undefined;
  if (checks.sealed !== undefined) assertShape(checks.sealed, sealed, `${event.type} (sealed)`);
  return {
    type: current[event.type],
    data: JSON.stringify(event.data),
    sealed: sealed === undefined ? undefined : sealedText(sealed, checks.envelope?.fields),
  };
};

/** JSON has no line break of its own, so a line is a part. */
const sealedText = (sealed: Readonly<Record<string, unknown>>, envelopeFields: readonly string[] | undefined): string => {
  if (envelopeFields === undefined) return JSON.stringify(sealed);
  const envelope: Record<string, unknown> = {};
  const rest: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(sealed)) (envelopeFields.includes(field) ? envelope : rest)[field] = value;
  return `${JSON.stringify(envelope)}\n${JSON.stringify(rest)}`;
};

/**
 * In: a stored name, its data as JSON text, its decrypted sealed part (undefined: there is none, or its key is destroyed), whole or
 * at least the first line of it where only the envelope is wanted: the event then has nothing else of a sealed part that has one.
 * Throws UnreadableEvent for an unknown name or a wrong shape.
 */
export const decodeEvent = (storedType: string, data: string, sealed: string | undefined, part: SealedPart = 'whole'): DomainEvent => {
  const upcaster = Object.hasOwn(upcasters, storedType) ? upcasters[storedType] : undefined;
  if (upcaster === undefined) throw new UnreadableEvent(`unknown event ${storedType}: was the log written by a newer version?`);
  const { type } = upcaster;
  const checks = checksOf(type);
  const upcast = upcaster.upcast({
    data: parse(data, storedType),
    sealed: sealed === undefined ? undefined : parseSealed(sealed, storedType, checks, part),
  });
  assertShape(checks.data, upcast.data, storedType);
  if (checks.sealed === undefined) return { type, data: upcast.data } as DomainEvent;
  const check = part === 'envelope' && checks.envelope !== undefined ? checks.envelope.check : checks.sealed;
  if (upcast.sealed !== undefined) assertShape(check, upcast.sealed, `${storedType} (sealed)`);
  return { type, data: upcast.data, sealed: upcast.sealed } as DomainEvent;
};

const parseSealed = (text: string, storedType: string, { envelope }: Checks, part: SealedPart): unknown => {
  const what = `${storedType} (sealed)`;
  if (envelope === undefined) return parse(text, what);
  const lineEnd = text.indexOf('\n');
  const first = parse(lineEnd < 0 ? text : text.slice(0, lineEnd), what);
  return part === 'envelope' || lineEnd < 0 ? first : { ...(first as object), ...(parse(text.slice(lineEnd + 1), what) as object) };
};

export const encodeMetadata = (metadata: EventMetadata): string => JSON.stringify(metadata);
export const decodeMetadata = (text: string): EventMetadata => JSON.parse(text) as EventMetadata;

/** Every stored name that is read as one of those types. */
export const namesOf = (types: readonly EventType[]): ReadonlySet<string> =>
  new Set(Object.entries(upcasters).flatMap(([name, { type }]) => (types.includes(type) ? [name] : [])));
