/** What is recorded of the readers of an email: opens and clicks, in bounds that no reader can cross. */
import type { EmailEvent } from './events.js';
import type { Engagement, Email } from './state.js';
import { isErased } from './status.js';

/** `link` and `url` are there for a click alone. */
export type EngagementCommand = Readonly<{
  type: 'RecordEngagement';
  at: string;
  /** Its place in the email. */
  recipient: number;
  link: number | undefined;
  url: string | undefined;
  /** How often since it was recorded last. */
  times: number;
  /** By which rule no person did it, as far as the request tells. */
  machine: string | undefined;
  userAgent: string | null;
  ipAddress: string | null;
}>;

/** So often an open, or a click on one link, is recorded each time; each event after that stands for ten times as many as the one before. */
const EACH_UP_TO = 10;
const EVENTS_MAX = EACH_UP_TO + 6;
/** Of one email: what a mail of many links can come to at most. */
const EVENTS_OF_EMAIL_MAX = 1_000;

/** Sooner after a host has taken the mail no person has it before them, or has found the link. */
const OPEN_AFTER_MS = 2_000;
const CLICK_AFTER_MS = 5_000;
/** So many different links in so short a time are followed by a scanner. */
const BURST_LINKS = 3;
const BURST_MS = 2_000;

export const TOO_SOON = 'too-soon';
export const BURST = 'burst';

type Asked = Pick<EngagementCommand, 'recipient' | 'link'>;

/** How many events there are of that for that recipient: the picture, or one link; of machines, or of others. */
const eventsOf = ({ engagements = [] }: Email, { recipient, link }: Asked, isMachine: boolean): number =>
  engagements.reduce(
    (count, known) => (known.recipient === recipient && known.link === link && (known.machine !== null) === isMachine ? count + 1 : count),
    0,
  );

/**
 * How often it must have happened since it was recorded last to be recorded again; undefined: it is not any more. What machines do is
 * counted by itself, so that none of them uses up what is kept for a person.
 */
export const timesToRecord = (email: Email, asked: Asked, isMachine: boolean): number | undefined => {
  if (!isRecorded(email, asked) || (email.engagements?.length ?? 0) >= EVENTS_OF_EMAIL_MAX) return undefined;
  const events = eventsOf(email, asked, isMachine);
  if (events >= EVENTS_MAX) return undefined;
  return events < EACH_UP_TO ? 1 : 10 ** (events - EACH_UP_TO + 1);
};

/** Of an email that is archived or deleted, and of a recipient who is erased, nothing is recorded: what is personal of it is gone. */
const isRecorded = (email: Email, { recipient, link }: Asked): boolean => {
  const { accepted, archivedAt, deletedAt } = email;
  if (archivedAt !== null || deletedAt !== null || accepted.roles[recipient] === undefined || isErased(email, recipient)) return false;
  return link === undefined ? accepted.tracking?.opens === true : accepted.tracking?.clicks === true;
};

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

/** What only the moment tells: nobody reads a mail that is still on its way, and nobody follows every link at once. */
const machineByTime = ({ at, recipient, link }: EngagementCommand, email: Email): string | undefined => {
  const atMs = Date.parse(at);
  const { sentAt, engagements = [] } = email;
  if (sentAt === null || atMs - Date.parse(sentAt) < (link === undefined ? OPEN_AFTER_MS : CLICK_AFTER_MS)) return TOO_SOON;
  if (link === undefined) return undefined;
  const isLately = (known: Engagement): boolean =>
    known.recipient === recipient && known.link !== undefined && known.link !== link && atMs - Date.parse(known.at) < BURST_MS;
  return new Set(engagements.filter(isLately).map((known) => known.link)).size >= BURST_LINKS - 1 ? BURST : undefined;
};
