/** How many bytes of attachments each team has stored. */
import { dayOf, isoTime } from '../../domain/core/time.js';
import type { AttachmentBytes } from '../../domain/email/events.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { CollectionSpec, Document, ReadModels } from '../../domain/ports/read-models.js';
import type { Step } from '../core/projection.js';

export const ATTACHMENT_USAGE = 'attachmentUsage';

export const attachmentUsageSpec: CollectionSpec = { name: ATTACHMENT_USAGE, version: 1, fields: [], indexes: [] };

/** Its id is that of the team. `days`: bytes by the last day on which they are kept; days that are over fall away with the next change. */
export type AttachmentUsageDocument = Document & Readonly<{ lasting: number; days: Readonly<Record<string, number>> }>;

type Change = Readonly<{
  team: string;
  /** Undefined for an email that keeps nothing. */
  bytes: AttachmentBytes | undefined;
  /** They come, or they go. */
  sign: 1 | -1;
  /** When, in ISO time; and the position of the event. */
  at: string;
  position: number;
}>;

/** What an email with attachments adds to the usage of its team when it is accepted, and takes from it when it is deleted or archived. */
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
  // What was kept until a day that is over has gone by itself.
  if (sum > 0) days[day] = sum;
  else delete days[day];
  return { id, seq: known?.seq ?? position, position, lasting: (known?.lasting ?? 0) + sign * bytes.lasting, days };
};

type Touch = Readonly<{ team: string; at: string; position: number; freed: AttachmentBytes | undefined }>;

/** Days that are over fall away, and what an email that has left the log still takes is taken back. */
export const attachmentUsageTouched = ({ team: id, at, position, freed }: Touch): Step => {
  const bytes = freed ?? { lasting: 0, temporary: 0, temporaryUntil: at };
  const next = (document: Document | undefined): AttachmentUsageDocument =>
    changed(document as AttachmentUsageDocument | undefined, { team: id, bytes, sign: -1, at, position });
  return { collection: ATTACHMENT_USAGE, id, next };
};

type Move = Readonly<{ team: string; bytes: AttachmentBytes; until: string; at: string; position: number }>;

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

/** What a team has stored at this moment, and the position of the newest event that is counted in it. */
export const storedAttachmentBytes =
  ({ readModels, clock }: Readonly<{ readModels: Pick<ReadModels, 'get'>; clock: Pick<Clock, 'now'> }>) =>
  async (team: string): Promise<Readonly<{ bytes: number; position: number }>> => {
    const document = (await readModels.get(ATTACHMENT_USAGE, team)) as AttachmentUsageDocument | undefined;
    return { bytes: storedBytesAt(document, isoTime(clock.now())), position: document?.position ?? 0 };
  };

/** In: the document of a team, and the time (ISO). Out: what the team has stored then. */
export const storedBytesAt = (document: AttachmentUsageDocument | undefined, now: string): number => {
  if (document === undefined) return 0;
  let sum = document.lasting;
  for (const [day, bytes] of Object.entries(document.days)) if (day >= dayOf(now)) sum += bytes;
  return sum;
};
