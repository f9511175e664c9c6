/** What a reader of an email did, as its events tell it. */
import type { EmailEngaged } from './events.js';

/** A recipient has asked for the picture, or for a link. */
export type Engagement = Readonly<{
  type: 'opened' | 'clicked';
  at: string;
  recipient: number;
  /** How often since the one before for the same thing. */
  times: number;
  /** By which rule no person did it; null where none says so. */
  machine: string | null;
  /** Its place among the tracked links of the mail; undefined for the picture. */
  link: number | undefined;
  /** null once the key is destroyed, as the two that follow. */
  url: string | null;
  userAgent: string | null;
  ipAddress: string | null;
}>;

export const engagementOf = (event: EmailEngaged): Engagement => {
  const { at, recipient, times = 1, machine, rule } = event.data;
  const isClick = event.type === 'EmailClicked';
  return {
    type: isClick ? 'clicked' : 'opened',
    at,
    recipient,
    times,
    machine: machine ? (rule ?? '') : null,
    link: isClick ? event.data.link : undefined,
    url: isClick ? (event.sealed?.url ?? null) : null,
    userAgent: event.sealed?.userAgent ?? null,
    ipAddress: event.sealed?.ipAddress ?? null,
  };
};
