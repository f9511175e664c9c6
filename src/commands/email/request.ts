/**
 * The checks of a send request that a schema cannot express: addresses, header fields, times, sizes. One error names
 * every fault.
 */
import { sourceFaults } from './source.js';
import { readLanguage } from '../templates/language.js';
import { DomainError, type FieldError } from '../../domain/core/errors.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import type { SendEmailRequest } from '../../api/email.js';
import type { Limits } from '../../domain/core/limits.js';
import { parseAddress, type Recipient, invalidAddresses } from '../../domain/mime/address.js';
import { checkHeader, type HeaderMatcher } from '../../domain/mime/compose.js';
import type { ReplyTo } from '../../domain/core/stored-schemas.js';
import { assertDefined } from '../../domain/core/ids.js';
import { isoTime, parseTime, DAY_MS } from '../../domain/core/time.js';
import type { AddressedRecipient } from '../../domain/email/events.js';
import type { RecipientRole } from '../../domain/email/status.js';
import { holdsControls, nameFault } from '../../shared/text.js';

/** `allowsHeader`: the relay instructions that callers may give; absent: none. */
type CheckPorts = Readonly<{ limits: Limits; allowsHeader?: HeaderMatcher }>;

/** A checked request: one recipient for each address, normalised, in the order to, cc, bcc. */
export type CheckedRequest = Readonly<{
  roles: readonly RecipientRole[];
  recipients: readonly AddressedRecipient[];
  from: Recipient | undefined;
  replyTo: ReplyTo | undefined;
  headers: Readonly<Record<string, string>>;
  scheduledAt: string | undefined;
  language: CallLanguage | undefined;
}>;

export const invalidFields = (errors: readonly FieldError[]): DomainError =>
  new DomainError('VALIDATION_ERROR', 'The request is not valid; `errors` names each field and what would be right.', {
    errors,
  });

/**
 * Throws VALIDATION_ERROR, or ERR_EMAIL_001 for addresses, with every fault of that kind. `hasMessage`: a finished
 * message stands in place of template and content.
 */
export const checkRequest = (
  request: SendEmailRequest,
  nowMs: number,
  { limits, allowsHeader }: CheckPorts,
  hasMessage = false,
): CheckedRequest => {
  const { to, cc = [], bcc = [] } = request;
  // Checked first, because the checks below run for each recipient.
  const count = to.length + cc.length + bcc.length;
  if (count > limits.recipientsMax) {
    throw invalidFields([
      {
        field: 'to',
        message: `to, cc and bcc hold ${count} recipients together; at most ${limits.recipientsMax} are allowed`,
      },
    ]);
  }
  const shape: FieldError[] = [];
  const addresses: FieldError[] = [];
  const usable = (recipient: Recipient, field: string): Recipient => readMailbox(recipient, field, shape, addresses);
  const all = (recipients: readonly Recipient[], role: RecipientRole) =>
    recipients.map((recipient, place) => ({ role, place, recipient: usable(recipient, `${role}[${place}]`) }));
  const given = [...all(to, 'to'), ...all(cc, 'cc'), ...all(bcc, 'bcc')];
  const from = request.from === undefined ? undefined : usable(request.from, 'from');
  const replyTo = request.replyTo === undefined ? undefined : readReplyTo(request.replyTo, shape, addresses);

  if (request.subject !== undefined && holdsControls(request.subject)) {
    shape.push({ field: 'subject', message: 'must not hold control characters or line breaks' });
  }
  if (!hasMessage) shape.push(...sourceFaults(request));
  if (request.templateId !== undefined && request.variables === undefined)
    shape.push({ field: 'variables', message: 'is required' });
  shape.push(...headerFaults(request.headers ?? {}, limits, allowsHeader));
  shape.push(...scheduleFaults(request.scheduledAt, nowMs, limits));
  shape.push(...metadataFaults(request.metadata, limits));
  const { language, faults: languageFaults } = readLanguage(request);
  shape.push(...languageFaults);

  if (shape.length > 0) throw invalidFields(shape);
  if (addresses.length > 0) throw invalidAddresses(addresses);
  return {
    ...onePerAddress(given),
    from,
    replyTo,
    headers: request.headers ?? {},
    scheduledAt: request.scheduledAt === undefined ? undefined : parseTime(request.scheduledAt),
    language,
  };
};

/**
 * In: a mailbox of the call, and the lists that take its faults. Out: the mailbox with its normal address, if it has
 * one.
 */
export const readMailbox = (
  recipient: Recipient,
  field: string,
  shape: FieldError[],
  addresses: FieldError[],
): Recipient => {
  const parsed = parseAddress(recipient.email);
  if (!parsed.ok) addresses.push({ field: `${field}.email`, message: parsed.reason });
  const fault = recipient.name === undefined ? undefined : nameFault(recipient.name);
  if (fault !== undefined) shape.push({ field: `${field}.name`, message: fault });
  return parsed.ok ? { ...recipient, email: parsed.address } : recipient;
};

/** Adds its faults to the two lists. */
export const readReplyTo = (
  given: NonNullable<SendEmailRequest['replyTo']>,
  shape: FieldError[],
  addresses: FieldError[],
): ReplyTo => {
  const readOne = (one: string | Recipient, field: string): Recipient => {
    if (typeof one !== 'string') return readMailbox(one, field, shape, addresses);
    const parsed = parseAddress(one);
    if (!parsed.ok) addresses.push({ field, message: parsed.reason });
    return { email: parsed.ok ? parsed.address : one };
  };
  const all = Array.isArray(given)
    ? given.map((one, at) => readOne(one, `replyTo[${at}]`))
    : [readOne(given, 'replyTo')];
  return all.length === 1 && all[0]!.name === undefined ? all[0]!.email : all;
};

/**
 * Compares addresses without letter case, as suppressions and bulk sends do: a person who is named twice gets one copy.
 */
const onePerAddress = (
  given: readonly Readonly<{ role: RecipientRole; place: number; recipient: Recipient }>[],
): Pick<CheckedRequest, 'roles' | 'recipients'> => {
  const roles: RecipientRole[] = [];
  const byAddress = new Map<string, AddressedRecipient>();
  for (const { role, place, recipient } of given) {
    const key = recipient.email.toLowerCase();
    const first = byAddress.get(key);
    if (first === undefined) {
      roles.push(role);
      byAddress.set(key, recipient);
    } else {
      byAddress.set(key, { ...first, also: [...(first.also ?? []), { role, place, ...recipient }] });
    }
  }
  return { roles, recipients: [...byAddress.values()] };
};

export const metadataFaults = (
  metadata: Readonly<Record<string, unknown>> | undefined,
  limits: Limits,
): readonly FieldError[] => {
  const sizeBytes = metadata === undefined ? 0 : Buffer.byteLength(JSON.stringify(metadata));
  if (sizeBytes <= limits.metadataSizeBytesMax) return [];
  return [
    { field: 'metadata', message: `is ${sizeBytes} bytes of JSON; at most ${limits.metadataSizeBytesMax} are allowed` },
  ];
};

export const headerFaults = (
  headers: Readonly<Record<string, string>>,
  limits: Limits,
  allowsHeader: HeaderMatcher | undefined,
): readonly FieldError[] => {
  const names = Object.keys(headers);
  if (names.length === 0) return [];
  if (names.length > limits.customHeadersMax) {
    return [
      { field: 'headers', message: `holds ${names.length} fields; at most ${limits.customHeadersMax} are allowed` },
    ];
  }
  const faults: FieldError[] = [];
  const seen = new Set<string>();
  for (const name of names) {
    const fault = seen.has(name.toLowerCase())
      ? 'is given twice (names are compared without case)'
      : checkHeader(name, headers[name]!, allowsHeader);
    seen.add(name.toLowerCase());
    if (fault !== undefined) faults.push({ field: `headers.${name.slice(0, 100)}`, message: fault });
  }
  return faults;
};

/**
 * In: a time of a request. Out: that time in UTC, as events have it. Throws VALIDATION_ERROR if it is past or too far
 * ahead.
 */
export const checkSchedule = (scheduledAt: string, nowMs: number, limits: Limits): string => {
  const faults = scheduleFaults(scheduledAt, nowMs, limits);
  if (faults.length > 0) throw invalidFields(faults);
  return assertDefined(parseTime(scheduledAt), 'time that was checked');
};

export const scheduleFaults = (
  scheduledAt: string | undefined,
  nowMs: number,
  limits: Limits,
): readonly FieldError[] => {
  if (scheduledAt === undefined) return [];
  const atMs = Date.parse(parseTime(scheduledAt) ?? '');
  if (Number.isNaN(atMs))
    return [{ field: 'scheduledAt', message: 'is not a moment; give ISO 8601 such as 2030-01-31T09:00:00Z' }];
  if (atMs <= nowMs) return [{ field: 'scheduledAt', message: `lies in the past; it must be after ${isoTime(nowMs)}` }];
  if (atMs > nowMs + limits.scheduledAheadDaysMax * DAY_MS) {
    return [{ field: 'scheduledAt', message: `lies more than ${limits.scheduledAheadDaysMax} days ahead` }];
  }
  return [];
};
