/** From where somebody calls, and how events name it without saying it. */
import { firstChars } from '../../shared/text.js';
import { auditOriginsStream, type StreamName } from '../core/ids.js';

/** The address of the network, and what the program of the caller says of itself. */
export type CallOrigin = Readonly<{ ipAddress: string; userAgent: string }>;

const IP_ADDRESS_CHARS_MAX = 64;
const USER_AGENT_CHARS_MAX = 256;

/** What callers send is cut, and shows no control characters to whoever reads it in a terminal. */
export const callOrigin = (ipAddress: string, userAgent: string): CallOrigin => ({
  ipAddress: firstChars(ipAddress, IP_ADDRESS_CHARS_MAX),
  // Cut twice: the first bounds what is searched. Half a surrogate pair is a control character too.
  userAgent: firstChars(userAgent.slice(0, 2 * USER_AGENT_CHARS_MAX).replaceAll(/[\p{C}\u2028\u2029]/gu, ' '), USER_AGENT_CHARS_MAX),
});

/** Where one origin is kept: the stream by whose it is and the month, and the revision in it. */
export type OriginPlace = Readonly<{ scope: string; month: string; revision: number }>;

const PLACE = /^([0-9a-f-]{36})\.(\d{4}-\d{2})#(\d{1,9})$/;

/** As the metadata of events name it. */
export const writeOrigin = ({ scope, month, revision }: OriginPlace): string => `${scope}.${month}#${revision}`;

/** undefined where the text names none. */
export const readOrigin = (text: string): OriginPlace | undefined => {
  const match = PLACE.exec(text);
  return match === null ? undefined : { scope: match[1]!, month: match[2]!, revision: Number(match[3]) };
};

export const streamOfOrigin = ({ scope, month }: Pick<OriginPlace, 'scope' | 'month'>): StreamName => auditOriginsStream(scope, month);
