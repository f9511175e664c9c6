/** What the tokens of pixels and links say: which recipient of which email, and where a link leads. They hold no address of a reader. */
import { parseEmailId, type EmailId } from '../core/ids.js';
import type { Keys } from '../ports/keys.js';
import { openReaderTokens } from './reader-token.js';
import { UUID_BYTES, uuidBytes, uuidOfBytes } from '../core/uuid-bytes.js';

export type OpenTarget = Readonly<{ emailId: EmailId; recipient: number }>;
/** `link`: its place among the tracked links of the mail. */
export type ClickTarget = OpenTarget & Readonly<{ link: number; url: string }>;

export type TrackingTokens = Readonly<{
  sealOpen: (target: OpenTarget) => string;
  sealClick: (target: ClickTarget) => string;
  /** undefined for whatever was not sealed here. */
  openOpen: (token: string) => OpenTarget | undefined;
  openClick: (token: string) => ClickTarget | undefined;
}>;

/** The id, then the recipient in one byte; of a link then its place in two bytes, and its address. */
const OPEN_BYTES = UUID_BYTES + 1;
const CLICK_BYTES = OPEN_BYTES + 2;
/** Beyond it a link is left as it is. */
export const LINKS_MAX = 0xffff;

const headOf = ({ emailId, recipient }: OpenTarget, size: number): Buffer => {
  const head = Buffer.alloc(size);
  head.set(uuidBytes(emailId));
  head[UUID_BYTES] = recipient;
  return head;
};

const targetOf = (plain: Buffer): OpenTarget | undefined => {
  const emailId = parseEmailId(uuidOfBytes(plain));
  return emailId && { emailId, recipient: plain[UUID_BYTES]! };
};

const WEB = /^https?:\/\//i;

export const openTrackingTokens = (keys: Pick<Keys, 'fingerprint'>): TrackingTokens => {
  const opens = openReaderTokens(keys, 'open');
  const clicks = openReaderTokens(keys, 'click');
  return {
    sealOpen: (target) => opens.seal(headOf(target, OPEN_BYTES)),
    sealClick: (target) => {
      const head = headOf(target, CLICK_BYTES);
      head.writeUInt16BE(target.link, OPEN_BYTES);
      return clicks.seal(Buffer.concat([head, Buffer.from(target.url)]));
    },
    openOpen: (token) => {
      const plain = opens.open(token);
      return plain?.byteLength === OPEN_BYTES ? targetOf(plain) : undefined;
    },
    openClick: (token) => {
      const plain = clicks.open(token);
      const target = plain !== undefined && plain.byteLength > CLICK_BYTES ? targetOf(plain) : undefined;
      if (plain === undefined || target === undefined) return undefined;
      const url = plain.toString('utf8', CLICK_BYTES);
      return WEB.test(url) ? { ...target, link: plain.readUInt16BE(OPEN_BYTES), url } : undefined;
    },
  };
};
