/** Storage that attachments of emails take, and how much of it each team may use. */
import type { AttachmentBytes } from '../../domain/email/events.js';
import { DomainError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import { isoTime, DAY_MS } from '../../domain/core/time.js';

type Sized = Readonly<{ bytes: Uint8Array; temporary?: true }>;

export const sizeOf = (files: readonly Sized[]): number => files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);

/** When the generated files of an email that is due at that moment are removed. */
export const temporaryUntil = (dueAtMs: number, { generatedFileDays }: Pick<Limits, 'generatedFileDays'>): string =>
  isoTime(dueAtMs + generatedFileDays * DAY_MS);

export const keptBytes = (files: readonly Sized[], dueAtMs: number, limits: Limits): AttachmentBytes => ({
  lasting: sizeOf(files.filter(({ temporary }) => temporary !== true)),
  temporary: sizeOf(files.filter(({ temporary }) => temporary === true)),
  temporaryUntil: temporaryUntil(dueAtMs, limits),
});

const written = new Intl.NumberFormat('en-US');

/** Room becomes free by itself when generated files grow old or emails are archived. */
const RETRY_AFTER_S = 3_600;

/** In: what the team has stored, and what is added (0: nothing yet). Throws ATTACHMENT_STORAGE_EXCEEDED. */
const checkStorage = (storedBytes: number, addedBytes: number, { teamAttachmentBytesMax: max }: Limits): void => {
  const bytes = storedBytes + Math.max(addedBytes, 1);
  if (bytes <= max) return;
  throw new DomainError(
    'ATTACHMENT_STORAGE_EXCEEDED',
    `With this email the attachments of the team would take ${written.format(storedBytes + addedBytes)} bytes, the maximum is ${written.format(max)}. Delete emails, wait until some are archived, or send links instead of files.`,
    { relatedInfo: { actualSizeBytes: storedBytes + addedBytes, maxSizeBytes: max }, retryAfterS: RETRY_AFTER_S },
  );
};

/** Bytes that a team has stored, and the position of the newest event that is counted in them. */
export type Stored = Readonly<{ bytes: number; position: number }>;

/** Room that an email takes whose append is under way. */
export type Claim = Readonly<{
  /** The email is in the log at that position: the read models count it from there on. */
  accepted: (position: number) => void;
  /** The email was not accepted, or nobody knows whether it was: then the read models will tell. */
  release: () => void;
}>;

/**
 * Storage of each team's attachments, exact within this process: the sum in the read models, and the attachments
 * accepted here since. The read models follow the log, so without claims calls at the same moment would all count the
 * same room. Each of several processes counts for itself: together they exceed the limit by at most the room that was
 * left, once for each process but one.
 */
export type AttachmentClaims = Readonly<{
  /** Throws ATTACHMENT_STORAGE_EXCEEDED where the team has no room for so much; 0: for anything at all. */
  check: (team: string, stored: Stored, addedBytes: number) => void;
  /** Checks as `check` does, and claims the room; `stored` may have been read some time before. */
  claim: (team: string, stored: Stored, addedBytes: number) => Claim;
}>;

type Claimed = { readonly bytes: number; position: number | undefined };
type Team = { stored: Stored; claims: Set<Claimed> };

export const openAttachmentClaims = (limits: Limits): AttachmentClaims => {
  const teams = new Map<string, Team>();

  const update = (name: string, told: Stored): Team => {
    const team = teams.get(name);
    if (team === undefined) {
      const fresh: Team = { stored: told, claims: new Set() };
      teams.set(name, fresh);
      return fresh;
    }
    // An older answer that arrives late lacks bytes whose claims have been removed since.
    if (told.position < team.stored.position) return team;
    team.stored = told;
    for (const claim of team.claims)
      if (claim.position !== undefined && claim.position <= told.position) team.claims.delete(claim);
    return team;
  };

  const check = ({ stored, claims }: Team, addedBytes: number): void => {
    let bytes = stored.bytes;
    for (const claim of claims) bytes += claim.bytes;
    checkStorage(bytes, addedBytes, limits);
  };

  return {
    check: (name, told, addedBytes) => check(update(name, told), addedBytes),
    claim: (name, told, addedBytes) => {
      const team = update(name, told);
      check(team, addedBytes);
      const claimed: Claimed = { bytes: addedBytes, position: undefined };
      team.claims.add(claimed);
      return {
        accepted: (position) => {
          if (position <= team.stored.position) team.claims.delete(claimed);
          else claimed.position = position;
        },
        release: () => void team.claims.delete(claimed),
      };
    },
  };
};
