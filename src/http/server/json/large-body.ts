/** Reads a large body without holding the event loop: each part of the work has a turn of its own, and many members or long names are checked in a process. */
import type { TSchema } from '@sinclair/typebox';
import type { Limits } from '../../../domain/core/limits.js';
import type { BodyChecks } from '../../../domain/ports/body-checks.js';
import { canonicalJson } from '../../../shared/canonical-json.js';
import { nextTurn } from '../../../shared/next-turn.js';
import { leaveOutNulls } from './absent.js';
import { checkNames, checkValue, parseFault, scanBody, textOfBody, valueOfText } from './body.js';
import { parseInTurns } from './parse-in-turns.js';
import type { JsonScan } from './scan.js';

/** A smaller body is read at once: it has too few members and characters to hold anybody up. */
export const LARGE_BODY_BYTES = 100 * 1024;

export type LargeBodyOptions = Readonly<{
  limits: Limits;
  bodyChecks: BodyChecks;
  /** Of the route. */
  schema: TSchema;
  team: string;
  /** The canonical form is wanted, for the fingerprint. */
  isIdempotent: boolean;
}>;

/** `canonical`: of the value without the nulls that mean absence (RFC 8785), where it is wanted. */
export type LargeBody = Readonly<{ value: unknown; canonical: string | Uint8Array | undefined }>;

/** Rejects as the reading of a small body throws; with TOO_MANY_LARGE_BODIES where no process has time for it. */
export const readLargeBody = async (bytes: Buffer, options: LargeBodyOptions): Promise<LargeBody> => {
  const { limits, bodyChecks, schema, team, isIdempotent } = options;
  await nextTurn();
  const scan = scanBody(bytes, limits);
  await nextTurn();
  const isApart = scan.members > limits.jsonMembersInlineMax || scan.nameBytes > limits.jsonNameBytesInlineMax;
  const checked = isApart ? await bodyChecks.check({ bytes, schema, isIdempotent }, team) : undefined;
  const value = await (isApart ? parseInTurns(bytes) : parsed(bytes, scan, limits));
  leaveOutNulls(schema, value);
  await nextTurn();
  if (!isIdempotent) return { value, canonical: undefined };
  const canonical = isApart ? checked?.canonical : canonicalJson(value);
  await nextTurn();
  return { value, canonical };
};

const parsed = async (bytes: Buffer, scan: JsonScan, limits: Limits): Promise<unknown> => {
  const text = textOfBody(bytes);
  checkNames(bytes, scan, limits);
  await nextTurn();
  const found = valueOfText(text, scan);
  await nextTurn();
  if (found === undefined) throw parseFault(text);
  checkValue(bytes, text, found.value, scan);
  await nextTurn();
  return found.value;
};
