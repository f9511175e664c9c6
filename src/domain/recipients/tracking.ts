/**
 * Open and click tracking: the setting, the tokens of pixels and links, the rules that tell machines from people, the
 * rewritten HTML.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto';
import type { Keys } from '../ports/keys.js';
import { parseEmailId, type EmailId, UUID_BYTES, uuidBytes, uuidOfBytes } from '../core/ids.js';

/** The call says what is recorded, else the template, else the team; by default nothing. */
export type Tracking = Readonly<{ opens: boolean; clicks: boolean }>;

/** `url`: the public URL of the service when the email was accepted; its pixel and links lead there. */
export type PinnedTracking = Tracking & Readonly<{ url: string }>;

export const NO_TRACKING: Tracking = { opens: false, clicks: false };

/** The first that is neither undefined nor null. */
export const firstTracking = (...given: readonly (Tracking | null | undefined)[]): Tracking =>
  given.find((tracking): tracking is Tracking => tracking !== undefined && tracking !== null) ?? NO_TRACKING;

/**
 * Tokens that stand in mails and come back from their readers, encrypted and authenticated. Equal content gives an
 * equal token, because a retry must send the mail unchanged: the tag over the content is the nonce of its encryption (a
 * synthetic initialization vector, as in RFC 5297), which also keeps tokens short.
 */
export type ReaderTokens = Readonly<{
  /** Out: base64url. */
  seal: (plain: Uint8Array) => string;
  /** undefined for a token that was not sealed with these keys. */
  open: (token: string) => Buffer | undefined;
}>;

const TAG_BYTES = 16;
const CIPHER = 'aes-256-ctr';

/** Base64url with stray bits at the end decodes too: such a token is refused, so each has one spelling. */
const isCanonical = (token: string, bytes: Buffer): boolean => bytes.toString('base64url') === token;

/** A token of one `purpose` is invalid for every other. */
export const openReaderTokens = (keys: Pick<Keys, 'fingerprint'>, purpose: string): ReaderTokens => {
  // Given bytes, Node would make a key object in each call, which takes longer than all the rest.
  const keyFor = (use: string): KeyObject =>
    createSecretKey(Buffer.from(keys.fingerprint('reader token', JSON.stringify([purpose, use])), 'hex'));
  const [macKey, cipherKey] = [keyFor('tag'), keyFor('content')];
  const tagOf = (plain: Uint8Array): Buffer =>
    createHmac('sha256', macKey).update(plain).digest().subarray(0, TAG_BYTES);
  return {
    seal: (plain) => {
      const tag = tagOf(plain);
      const cipher = createCipheriv(CIPHER, cipherKey, tag);
      // A stream cipher keeps nothing back: no final() is needed.
      return Buffer.concat([tag, cipher.update(plain)]).toString('base64url');
    },
    open: (token) => {
      const bytes = Buffer.from(token, 'base64url');
      if (bytes.byteLength < TAG_BYTES || !isCanonical(token, bytes)) return undefined;
      const tag = bytes.subarray(0, TAG_BYTES);
      const decipher = createDecipheriv(CIPHER, cipherKey, tag);
      const plain = decipher.update(bytes.subarray(TAG_BYTES));
      return timingSafeEqual(tagOf(plain), tag) ? plain : undefined;
    },
  };
};

type MachineRule = Readonly<{
  name: string;
  /** Part of the User-Agent, letter case aside. */
  agent?: RegExp;
  /** Networks in IPv4, as `address/bits`. */
  networks?: readonly string[];
}>;

/**
 * Image proxies of mailboxes, then scanners of mail hosts, then other programs. The first rule that matches gives the
 * name.
 */
export const machineRules: readonly MachineRule[] = [
  { name: 'apple-mail-privacy', agent: /^Mozilla\/5\.0$/, networks: ['17.0.0.0/8'] },
  { name: 'gmail-image-proxy', agent: /GoogleImageProxy|ggpht\.com/i },
  { name: 'yahoo-image-proxy', agent: /YahooMailProxy|YahooCacheSystem/i },
  { name: 'duckduckgo-image-proxy', agent: /DuckDuckGo-Favicons-Bot|DDG-Image/i },
  { name: 'proton-image-proxy', agent: /ProtonMail|Proton-Image-Proxy/i },
  // Outlook for Windows calls itself "ms-office; MSOffice 16" and is a person.
  {
    name: 'microsoft-safe-links',
    agent: /SafeLinks|Microsoft Office (?:Existence|Protocol) Discovery|SkypeUriPreview|BingPreview/i,
    networks: ['40.92.0.0/15', '40.94.0.0/16', '40.107.0.0/16', '52.100.0.0/14', '104.47.0.0/17'],
  },
  { name: 'barracuda', agent: /Barracuda/i, networks: ['64.235.144.0/20', '209.222.80.0/21'] },
  {
    name: 'proofpoint',
    agent: /Proofpoint|URLDefense/i,
    networks: ['67.231.144.0/20', '148.163.128.0/19', '208.84.64.0/22'],
  },
  {
    name: 'mimecast',
    agent: /Mimecast/i,
    networks: ['91.220.42.0/24', '195.130.217.0/24', '205.139.110.0/23', '207.211.30.0/23'],
  },
  { name: 'cisco-secure-email', agent: /IronPort|Cisco(?:-| )(?:Secure|AMP|Umbrella)/i },
  { name: 'trend-micro', agent: /Trend ?Micro|\bTMASE\b/i },
  { name: 'symantec', agent: /Symantec|MessageLabs|BrightMail/i },
  { name: 'sophos', agent: /Sophos/i },
  {
    name: 'other-scanner',
    agent:
      /Cloudmark|FireEye|Trellix|Fortinet|FortiMail|Forcepoint|Zscaler|Hornetsecurity|Spamhaus|VirusTotal|urlscan/i,
  },
  {
    name: 'link-preview',
    agent: /facebookexternalhit|Slackbot|Twitterbot|LinkedInBot|TelegramBot|WhatsApp|Discordbot|Iframely|Embedly/i,
  },
  { name: 'headless-browser', agent: /HeadlessChrome|PhantomJS|Puppeteer|Playwright|Selenium/i },
  {
    name: 'program',
    agent:
      /^(?:curl|wget|python|ruby|java|perl|php|okhttp|axios|node|undici|go-http-client|libwww|lwp|apache-httpclient|guzzle)\b/i,
  },
  { name: 'crawler', agent: /bot\b|crawler|spider|scanner/i },
  { name: 'no-user-agent', agent: /^$/ },
];

type Network = Readonly<{ first: number; last: number }>;
type Compiled = Readonly<{ name: string; agent: RegExp | undefined; networks: readonly Network[] }>;

const IPV4 = /^(?:::ffff:)?(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/i;

/** undefined: not an IPv4 address, nor one mapped into IPv6. */
const numberOf = (address: string): number | undefined => {
  const parts = IPV4.exec(address);
  return parts === null ? undefined : parts.slice(1).reduce((sum, part) => sum * 256 + Number(part), 0);
};

const networkOf = (text: string): Network => {
  const [address = '', bits = ''] = text.split('/');
  const size = 2 ** (32 - Number(bits));
  const number = numberOf(address);
  if (number === undefined || number % size !== 0) throw new Error(`${text} is not a network`);
  return { first: number, last: number + size - 1 };
};

const compiled: readonly Compiled[] = machineRules.map(({ name, agent, networks = [] }) => ({
  name,
  agent,
  networks: networks.map(networkOf),
}));

/** The rest of a longer User-Agent is neither matched nor stored. */
export const USER_AGENT_CHARS_MAX = 512;

/** Out: the name of the first rule that matches the User-Agent; undefined: none does. */
export const machineOfAgent = (userAgent: string): string | undefined => {
  const agent = userAgent.trim().slice(0, USER_AGENT_CHARS_MAX);
  return compiled.find((rule) => rule.agent?.test(agent) === true)?.name;
};

/** Out: the name of the first rule whose networks contain the address; undefined: none does. */
export const machineOfAddress = (ipAddress: string): string | undefined => {
  const number = numberOf(ipAddress);
  if (number === undefined) return undefined;
  return compiled.find(({ networks }) => networks.some(({ first, last }) => number >= first && number <= last))?.name;
};

/** The recipient is a number: a token holds no address of a reader. */
type OpenTarget = Readonly<{ emailId: EmailId; recipient: number }>;
/** `link`: its place among the tracked links of the mail. */
type ClickTarget = OpenTarget & Readonly<{ link: number; url: string }>;

export type TrackingTokens = Readonly<{
  sealOpen: (target: OpenTarget) => string;
  sealClick: (target: ClickTarget) => string;
  /** undefined for a token that was not sealed with these keys. */
  openOpen: (token: string) => OpenTarget | undefined;
  openClick: (token: string) => ClickTarget | undefined;
}>;

/** The email id, then the recipient in one byte; a click has the link's place in two more bytes, then its URL. */
const OPEN_BYTES = UUID_BYTES + 1;
const CLICK_BYTES = OPEN_BYTES + 2;
/** Links after these are left as they are. */
const LINKS_MAX = 0xffff;

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

export type Tracked = Readonly<{
  tokens: TrackingTokens;
  tracking: PinnedTracking;
  emailId: EmailId;
  /** The place of this copy's recipient among those of the email. */
  recipient: number;
  /** Tracking does not make the HTML larger than this. */
  sizeBytesMax: number;
}>;

/** The renderer puts it on links that are not to be tracked; `trackHtml` removes it before the mail is sent. */
export const UNTRACKED_ATTRIBUTE = ' data-sealpost-track="off"';

/** Gmail cuts off a larger HTML part, so tracking does not take a smaller one beyond it. */
export const GMAIL_CLIPS_AT_BYTES = 102_000;
/** A longer address is left as it is: browsers and proxies cut what is longer than 2,000 characters. */
const URL_CHARS_MAX = 1_400;

/** An opening tag, as the renderer or the author of a mail without template wrote it; a value in quotes may hold `>`. */
const ANCHOR = /<a(?=\s)(?:[^<>"']|"[^"]*"|'[^']*')*>/gi;
const ATTRIBUTE = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;

/** The first `href` of an opening tag that leads to the web, as it is written, and its place in the tag. */
const webHrefOf = (tag: string): Readonly<{ written: string; index: number; address: string }> | undefined => {
  for (const { 0: written, 1: name = '', 2: double, 3: single, 4: bare, index } of tag.matchAll(ATTRIBUTE)) {
    if (index < 2 || name.toLowerCase() !== 'href') continue;
    const address = (double ?? single ?? bare ?? '').trim();
    return /^https?:\/\//i.test(address) ? { written, index, address } : undefined;
  }
  return undefined;
};

/** The tag without the mark that keeps its link from being tracked; undefined if it has none. Authors quote as they like. */
const withoutMark = (tag: string): string | undefined => {
  if (!/data-sealpost-track/i.test(tag)) return undefined;
  for (const { 0: written, 1: name = '', 2: double, 3: single, 4: bare, index } of tag.matchAll(ATTRIBUTE)) {
    if (index < 2 || name.toLowerCase() !== 'data-sealpost-track') continue;
    if ((double ?? single ?? bare ?? '').trim().toLowerCase() !== 'off') continue;
    return tag.slice(0, index).trimEnd() + tag.slice(index + written.length);
  }
  return undefined;
};

/** Puts the pixel and the tracked links into the HTML of one recipient's mail. The text part stays as it is. */
export const trackHtml = (html: string, { tokens, tracking, emailId, recipient, sizeBytesMax }: Tracked): string => {
  const pixel = tracking.opens ? pixelOf(`${tracking.url}/t/o/${tokens.sealOpen({ emailId, recipient })}`) : '';
  const sizeBytes = Buffer.byteLength(html);
  let leftBytes =
    (sizeBytes <= GMAIL_CLIPS_AT_BYTES ? Math.min(GMAIL_CLIPS_AT_BYTES, sizeBytesMax) : sizeBytesMax) -
    sizeBytes -
    pixel.length;
  const hasPixel = pixel !== '' && leftBytes >= 0;
  let link = 0;
  const rewritten = html.replace(ANCHOR, (tag) => {
    const unmarked = withoutMark(tag);
    if (unmarked !== undefined) return unmarked;
    const found = tracking.clicks ? webHrefOf(tag) : undefined;
    const url = found && locationOf(unescaped(found.address));
    if (
      found === undefined ||
      url === undefined ||
      url.length > URL_CHARS_MAX ||
      isOurs(url, tracking.url) ||
      link > LINKS_MAX
    )
      return tag;
    const href = `href="${tracking.url}/t/c/${tokens.sealClick({ emailId, recipient, link, url })}"`;
    const grownBytes = href.length - Buffer.byteLength(found.written);
    if (grownBytes > leftBytes) return tag;
    leftBytes -= grownBytes;
    link += 1;
    return tag.slice(0, found.index) + href + tag.slice(found.index + found.written.length);
  });
  return hasPixel ? withPixel(rewritten, pixel) : rewritten;
};

/** A link to the service itself is not tracked: unsubscribing must work even if tracking fails. */
const isOurs = (url: string, publicUrl: string): boolean => url === publicUrl || url.startsWith(`${publicUrl}/`);

const pixelOf = (src: string): string =>
  `<img src="${src}" alt="" width="1" height="1" style="display:block;width:1px;height:1px;border:0;margin:0;padding:0">`;

/** Inserts the pixel at the end of the body. */
const withPixel = (html: string, pixel: string): string => {
  const end = [...html.matchAll(/<\/body\s*>/gi)].at(-1)?.index ?? -1;
  return end < 0 ? html + pixel : html.slice(0, end) + pixel + html.slice(end);
};

const ASCII = /^[\x21-\x7e]+$/;

/** The URL in ASCII, as the Location header needs it; undefined if it cannot be parsed. */
const locationOf = (url: string | undefined): string | undefined => {
  if (url === undefined || ASCII.test(url)) return url;
  return URL.canParse(url) ? new URL(url).href : undefined;
};

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Resolves the character references that the renderer writes, and keeps an ampersand that begins none, as authors write
 * it between the parts of a query; undefined if there is any other reference.
 */
const unescaped = (text: string): string | undefined => {
  if (!text.includes('&')) return text;
  let isKnown = true;
  const plain = text.replace(
    /&(?:#(\d{1,7})|([a-z]+));|(&)(?=[a-z0-9_-]*=|[^a-z0-9#]|$)|&/gi,
    (_, code: string | undefined, name: string | undefined, plain: string | undefined) => {
      if (plain !== undefined) return plain;
      const character = code === undefined ? (name === undefined ? undefined : NAMED[name]) : characterOf(Number(code));
      isKnown &&= character !== undefined;
      return character ?? '';
    },
  );
  return isKnown ? plain : undefined;
};

const characterOf = (code: number): string | undefined => (code > 0x10ffff ? undefined : String.fromCodePoint(code));
