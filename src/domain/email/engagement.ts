/**
 * Decides which opens and clicks are recorded, within limits that no reader can exceed, and which of them a machine
 * made.
 */
import type { EmailEvent } from './events.js';
import type { Engagement, Email } from './state.js';
import { isErased } from './status.js';

/** `link` and `url` are undefined for an open. */
export type EngagementCommand = Readonly<{
  type: 'RecordEngagement';
  at: string;
  /** Its place in the email. */
  recipient: number;
  link: number | undefined;
  url: string | undefined;
  /** Requests since the last recorded event. */
  times: number;
  /** The rule by which the request came from a machine; undefined: none matched. */
  machine: string | undefined;
  userAgent: string | null;
  ipAddress: string | null;
}>;

/**
 * The first opens, or clicks on one link, are recorded one by one; each later event covers ten times as many as the one
 * before.
 */
const EACH_UP_TO = 10;
const EVENTS_MAX = EACH_UP_TO + 6;
/** Most events of one email, whatever the number of its links. */
const EVENTS_OF_EMAIL_MAX = 1_000;

/** An open or a click sooner after the host took the mail is a machine's. */
const OPEN_AFTER_MS = 2_000;
const CLICK_AFTER_MS = 5_000;
/** A recipient who follows this many different links within `BURST_MS` is a scanner. */
const BURST_LINKS = 3;
const BURST_MS = 2_000;

export const TOO_SOON = 'too-soon';
export const BURST = 'burst';

type Target = Pick<EngagementCommand, 'recipient' | 'link'>;

export const recordEngagement = (command: EngagementCommand, email: Email): readonly EmailEvent[] => {
  const { at, recipient, link, url, times, userAgent, ipAddress } = command;
  const rule = command.machine ?? machineByTime(command, email);
  const needed = timesToRecord(email, command, rule !== undefined);
  if (needed === undefined || times < needed) return [];
  const data = {
    at,
    recipient,
    ...(times === 1 ? {} : { times }),
    machine: rule !== undefined,
    ...(rule === undefined ? {} : { rule }),
  };
  if (link === undefined || url === undefined) return [{ type: 'EmailOpened', data, sealed: { userAgent, ipAddress } }];
  return [{ type: 'EmailClicked', data: { ...data, link }, sealed: { userAgent, ipAddress, url } }];
};

/** Machines that only the time tells: they open a mail that is still on its way, or follow every link at once. */
const machineByTime = ({ at, recipient, link }: EngagementCommand, email: Email): string | undefined => {
  const atMs = Date.parse(at);
  const { sentAt, engagements = [] } = email;
  if (sentAt === null || atMs - Date.parse(sentAt) < (link === undefined ? OPEN_AFTER_MS : CLICK_AFTER_MS))
    return TOO_SOON;
  if (link === undefined) return undefined;
  const isLately = (known: Engagement): boolean =>
    known.recipient === recipient &&
    known.link !== undefined &&
    known.link !== link &&
    atMs - Date.parse(known.at) < BURST_MS;
  return new Set(engagements.filter(isLately).map((known) => known.link)).size >= BURST_LINKS - 1 ? BURST : undefined;
};

/** The number of events of that recipient for the pixel, or for one link, by machines or by people. */
const eventsOf = ({ engagements = [] }: Email, { recipient, link }: Target, isMachine: boolean): number =>
  engagements.reduce(
    (count, known) =>
      known.recipient === recipient && known.link === link && (known.machine !== null) === isMachine
        ? count + 1
        : count,
    0,
  );

/**
 * Requests that the next event takes; undefined: none is recorded any more. Machines are counted apart, so that they do
 * not use up the events of a person.
 */
export const timesToRecord = (email: Email, target: Target, isMachine: boolean): number | undefined => {
  if (!isRecorded(email, target) || (email.engagements?.length ?? 0) >= EVENTS_OF_EMAIL_MAX) return undefined;
  const events = eventsOf(email, target, isMachine);
  if (events >= EVENTS_MAX) return undefined;
  return events < EACH_UP_TO ? 1 : 10 ** (events - EACH_UP_TO + 1);
};

/** False for an archived or deleted email and for an erased recipient: their personal data is gone. */
const isRecorded = (email: Email, { recipient, link }: Target): boolean => {
  const { accepted, archivedAt, deletedAt } = email;
  if (
    archivedAt !== null ||
    deletedAt !== null ||
    accepted.roles[recipient] === undefined ||
    isErased(email, recipient)
  )
    return false;
  return link === undefined ? accepted.tracking?.opens === true : accepted.tracking?.clicks === true;
};
