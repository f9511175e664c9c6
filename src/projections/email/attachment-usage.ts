/** The bytes of attachments that each team stores. */
import { dayOf, isoTime } from '../../domain/core/time.js';
import type { AttachmentBytes } from '../../domain/email/events.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { CollectionSpec, Document, ReadModels } from '../../domain/ports/read-models.js';
import type { Step } from '../core/projection.js';

export const ATTACHMENT_USAGE = 'attachmentUsage';

export const attachmentUsageSpec: CollectionSpec = { name: ATTACHMENT_USAGE, version: 1, fields: [], indexes: [] };

/**
 * The id is that of the team. `days`: temporary bytes by the last day on which they are kept; past days are dropped at
 * the next change.
 */
export type AttachmentUsageDocument = Document & Readonly<{ lasting: number; days: Readonly<Record<string, number>> }>;

type Change = Readonly<{
  team: string;
  /** undefined: the email has no attachments. */
  bytes: AttachmentBytes | undefined;
  /** Added or removed. */
  sign: 1 | -1;
  /** ISO 8601. */
  at: string;
  position: number;
}>;

type Move = Readonly<{ team: string; bytes: AttachmentBytes; until: string; at: string; position: number }>;

/** The bytes that an email adds to its team's usage at acceptance, and removes when it is deleted or archived. */
export const attachmentUsageSteps = ({ team: id, bytes, sign, at, position }: Change): readonly Step[] => {
  if (bytes === undefined) return [];
  const next = (document: Document | undefined): AttachmentUsageDocument =>
    changed(document as AttachmentUsageDocument | undefined, { team: id, bytes, sign, at, position });
  return [{ collection: ATTACHMENT_USAGE, id, next }];
};

const changed = (
  known: AttachmentUsageDocument | undefined,
  { team: id, bytes, sign, at, position }: Change & Readonly<{ bytes: AttachmentBytes }>,
): AttachmentUsageDocument => {
  const days: Record<string, number> = {};
  for (const [day, sum] of Object.entries(known?.days ?? {})) if (day >= dayOf(at)) days[day] = sum;
  const day = dayOf(bytes.temporaryUntil);
  const sum = (days[day] ?? 0) + sign * bytes.temporary;
  // A sum below 0 is of a past day, whose bytes were dropped already.
  if (sum > 0) days[day] = sum;
  else delete days[day];
  return { id, seq: known?.seq ?? position, position, lasting: (known?.lasting ?? 0) + sign * bytes.lasting, days };
};

/** The temporary bytes of an email are kept until another day. */
export const attachmentUsageMoved = ({ team: id, bytes, until, at, position }: Move): Step => {
  const change = { team: id, bytes, at, position };
  const next = (document: Document | undefined): AttachmentUsageDocument =>
    changed(changed(document as AttachmentUsageDocument | undefined, { ...change, sign: -1 }), {
      ...change,
      bytes: { ...bytes, temporaryUntil: until },
      sign: 1,
    });
  return { collection: ATTACHMENT_USAGE, id, next };
};

/** The bytes that a team stores now, and the position of the newest event counted in them. */
export const storedAttachmentBytes =
  ({ readModels, clock }: Readonly<{ readModels: Pick<ReadModels, 'get'>; clock: Pick<Clock, 'now'> }>) =>
  async (team: string): Promise<Readonly<{ bytes: number; position: number }>> => {
    const document = (await readModels.get(ATTACHMENT_USAGE, team)) as AttachmentUsageDocument | undefined;
    return { bytes: storedBytesAt(document, isoTime(clock.now())), position: document?.position ?? 0 };
  };

/** In: the document of a team, and the time (ISO 8601). Out: the bytes stored then. */
export const storedBytesAt = (document: AttachmentUsageDocument | undefined, now: string): number => {
  if (document === undefined) return 0;
  let sum = document.lasting;
  for (const [day, bytes] of Object.entries(document.days)) if (day >= dayOf(now)) sum += bytes;
  return sum;
};
