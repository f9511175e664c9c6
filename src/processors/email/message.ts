/** Composes the mail of an email from what was pinned at acceptance: one for all recipients, or a copy for each. */
import { CLOCKS_APART_MS, isoTime, outwardNow } from '../../domain/core/time.js';
import type { EmailNeeds } from '../../commands/email/needs.js';
import { linkBaseOf, unsubscribeUrl } from '../../commands/recipients/unsubscribe.js';
import { addressedIn, type Email } from '../../domain/email/state.js';
import { echoHeaders, isEchoHeader } from '../../domain/email/feedback.js';
import {
  assertDefined,
  parseEmailId,
  parseTeamId,
  splitStream,
  type EmailId,
  type StreamName,
  type TeamId,
} from '../../domain/core/ids.js';
import {
  type EmailInput,
  assetOfContentId,
  type CompiledEmail,
  type InlineImage,
} from '../../domain/ports/renderer.js';
import { UNSUBSCRIBE_CONSTANT, type RenderEnvironment, type Company } from '../../domain/rendering/scope/constants.js';
import { escapeHtml } from '../../domain/rendering/fill/compile.js';
import type { StoredMessage } from '../../domain/core/stored-schemas.js';
import { customField } from '../../domain/mime/header.js';
import { bodyStartOf, fieldsOf, valueOf, withTexts } from '../../domain/mime/read.js';
import { filledHead, needs8Bit } from '../../domain/mime/submitted.js';
import { trackHtml, type TrackingTokens } from '../../domain/recipients/tracking.js';
import type { OutgoingMessage, ReturnPath, SigningKey } from '../../domain/ports/mailer.js';
import { loadAttachments, type ReadyAttachment } from '../../commands/documents/attachments.js';
import { domainOfAddress } from '../../commands/domains/sender-domains.js';
import { assertOwnSender } from '../../commands/email/sender.js';
import { compiledSource, sourceOf } from '../../commands/email/source.js';
import { shownSize, type PictureSize } from '../../domain/rendering/pictures.js';
import { DomainError, FileDamaged, KeyMissing, wholeText } from '../../domain/core/errors.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { Recipient } from '../../domain/mime/address.js';
import { composeMessage, type MessageAttachment } from '../../domain/mime/compose.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { DomainKeys } from '../domains/sender-domains.js';

export type MessageDeps = Pick<EmailNeeds, 'eventLog' | 'files' | 'renderer' | 'hasRelay' | 'providerFeedback'> &
  CopyDeps &
  Readonly<{
    clock: Pick<Clock, 'monotonic' | 'now' | 'machineNow'>;
    domainKeys: DomainKeys;
    /** Called with the time that composing a message took. */
    composed?: (seconds: number) => void;
  }>;

/** `is8Bit`: it holds bytes outside ASCII. */
export type Message = Readonly<{
  from: string;
  raw: Buffer;
  is8Bit?: boolean;
  signWith: readonly SigningKey[] | undefined;
}>;
export type Damaged = Readonly<{ damaged: FileDamaged }>;
export type Impossible = Readonly<{ reason: 'rendering' | 'content-lost'; text: string }>;

/** Template, attachments and keys are loaded: messages can be composed. */
export type Prepared = Readonly<{
  /** `recipient`: makes the copy of that recipient, by its place in the email; undefined: the mail for all. */
  message: (recipient: number | undefined) => Message | Impossible;
}>;

type CopyDeps = Pick<EmailNeeds, 'keys' | 'linkBase' | 'limits'> & Readonly<{ trackingTokens: TrackingTokens }>;

/** The parts of a copy that differ by recipient: unsubscribe links, pixel and tracked links. */
type CopyParts = Readonly<{
  /** Added after the headers of the call. */
  headers: readonly Readonly<{ name: string; value: string }>[];
  /** Added to the render environment. */
  environment: Pick<RenderEnvironment, 'unsubscribeUrl'>;
  /** Added to the input of rendering. */
  rendering: Pick<EmailInput, 'marksUntracked'>;
  /** Turns the rendered HTML into that of the copy. */
  html: (rendered: string) => string;
}>;

type Addressed = Readonly<{ stream: StreamName; teamId: string }>;

/** Loads template, attachments and the current signing keys of the sender. */
export const prepareMessage = async (
  deps: MessageDeps,
  { stream, teamId }: Addressed,
  email: Email,
): Promise<Prepared | Impossible | Damaged> => {
  const { accepted, content } = email;
  if (content === undefined) throw new KeyMissing(stream);
  try {
    // The email may have been accepted before the relay was set.
    assertOwnSender(deps, content.from);
  } catch (fault) {
    return impossible(fault);
  }
  let attachments: readonly ReadyAttachment[] = [];
  if (content.attachments.length > 0) {
    const key = await deps.eventLog.existingKey(stream);
    if (key === undefined) throw new KeyMissing(stream);
    const loaded = await undamaged(loadAttachments(deps.files, key, content.attachments));
    if (loaded instanceof FileDamaged) return { damaged: loaded };
    if (loaded === undefined) return { reason: 'content-lost', text: 'an attachment of this email is gone' };
    attachments = loaded;
  }
  const signWith = await deps.domainKeys(teamId, domainOfAddress(content.from.email));
  const { message } = content;
  if (message !== undefined) {
    const whole = echoingMessage(deps, stream, filledMessage(content, message, attachments));
    return {
      message: (recipient) => {
        try {
          const parts = recipient === undefined ? undefined : copyPartsOf(deps, { stream, teamId }, email, recipient);
          const raw = parts === undefined ? whole : copyOfMessage(deps, whole, parts);
          return { from: message.sender ?? content.from.email, raw, is8Bit: needs8Bit(raw), signWith };
        } catch (fault) {
          return impossible(fault);
        }
      },
    };
  }
  let render: CompiledEmail;
  try {
    render = await compiledSource(deps, sourceOf(accepted, content), content);
  } catch (fault) {
    return impossible(fault);
  }
  return {
    message: (recipient) => {
      try {
        const parts = recipient === undefined ? undefined : copyPartsOf(deps, { stream, teamId }, email, recipient);
        return {
          from: content.from.email,
          raw: composed(deps, { stream, email, content, render, attachments, parts }),
          signWith,
        };
      } catch (fault) {
        return impossible(fault);
      }
    },
  };
};

/** A message that came by SMTP, with the addresses of the recipients whose data is not destroyed. */
const filledMessage = (
  content: NonNullable<Email['content']>,
  { head, body }: StoredMessage,
  [file]: readonly ReadyAttachment[],
): Buffer => {
  const written = content.recipients.map((recipient) => (recipient === null ? undefined : (recipient.written ?? [])));
  const bytes = body === undefined ? assertDefined(file, 'body of a message').bytes : Buffer.from(body, 'latin1');
  return Buffer.concat([Buffer.from(`${filledHead(head, written)}\r\n`, 'latin1'), bytes]);
};

/** Such a message with the fields, links and pixel of one recipient. A text larger than HTML may be stays as it is. */
const copyOfMessage = (
  { limits }: CopyDeps,
  whole: Buffer,
  { headers, environment: { unsubscribeUrl }, html }: CopyParts,
): Buffer => {
  const changed = withTexts(whole, (text, type) => {
    if (text.length > limits.htmlSizeBytesMax) return undefined;
    const own = unsubscribeUrl === undefined ? text : withUnsubscribeUrl(text, unsubscribeUrl, type);
    return type === 'text/html' ? html(own) : own;
  });
  if (headers.length === 0) return changed;
  return Buffer.concat([
    Buffer.from(headers.map(({ name, value }) => customField(name, value)).join(''), 'latin1'),
    changed,
  ]);
};

const UNSUBSCRIBE_PLACEHOLDER = new RegExp(`\\{\\{\\s*${UNSUBSCRIBE_CONSTANT}\\s*\\}\\}`, 'g');

const withUnsubscribeUrl = (text: string, url: string, type: 'text/html' | 'text/plain'): string =>
  text.replace(UNSUBSCRIBE_PLACEHOLDER, () => (type === 'text/html' ? escapeHtml(url) : url));

type Composing = Readonly<{
  stream: StreamName;
  email: Email;
  content: NonNullable<Email['content']>;
  render: CompiledEmail;
  attachments: readonly ReadyAttachment[];
  parts: CopyParts | undefined;
}>;

const composed = (deps: MessageDeps, { stream, email, content, render, attachments, parts }: Composing): Buffer => {
  const { accepted } = email;
  const leapMs = outwardNow(deps.clock) - deps.clock.now();
  const date =
    email.scheduledAt ?? (Math.abs(leapMs) < CLOCKS_APART_MS ? accepted.at : isoTime(Date.parse(accepted.at) + leapMs));
  // Rendered with the call's subject, as at acceptance: the HTML title has it, and the template's own subject may lack
  // variables.
  const { html, text, inline } = render({
    variables: content.variables as JsonObject,
    ...(content.subjectOverride === undefined ? {} : { subject: content.subjectOverride }),
    environment: { at: date, company: accepted.company as Company, ...parts?.environment },
    ...(attachments.length === 0 ? {} : { pictures: sizesOf(attachments) }),
    ...parts?.rendering,
  });
  const addresses = (role: 'to' | 'cc') =>
    addressedIn(email, role).map(({ email: address, name }) => ({ address, name }));
  const beganMs = deps.composed === undefined ? 0 : deps.clock.monotonic();
  const headers = Object.entries(content.headers).map(([name, value]) => ({ name, value }));
  const raw = composeMessage({
    from: { address: content.from.email, name: content.from.name },
    to: addresses('to'),
    cc: addresses('cc'),
    replyTo: replyToOf(content).map(({ email: address, name }) => ({ address, name })),
    subject: content.subject,
    date,
    messageId: accepted.messageId,
    headers: echoing(deps, stream, parts === undefined ? headers : [...headers, ...parts.headers]),
    html: parts === undefined ? html : parts.html(html),
    text,
    attachments: [
      ...attachments.map(({ filename, contentType, contentId, bytes }) => ({
        filename,
        contentType,
        contentId,
        content: bytes,
      })),
      ...inline.flatMap(drawn),
    ],
    priority: accepted.priority,
  });
  deps.composed?.((deps.clock.monotonic() - beganMs) / 1_000);
  return raw;
};

/** Adds the headers by which providers name the email in their events, if there are any providers. */
const echoing = (
  { providerFeedback }: Pick<MessageDeps, 'providerFeedback'>,
  stream: StreamName,
  headers: CopyParts['headers'],
): CopyParts['headers'] => {
  if (providerFeedback === undefined) return headers;
  const { providers } = providerFeedback;
  const others = headers.filter(({ name }) => !isEchoHeader(name, providers));
  return [...others, ...echoHeaders(headers, providers, emailIdOf(stream))];
};

/** Adds the same headers to a message that came by SMTP. */
const echoingMessage = (
  { providerFeedback }: Pick<MessageDeps, 'providerFeedback'>,
  stream: StreamName,
  whole: Buffer,
): Buffer => {
  if (providerFeedback === undefined) return whole;
  const { providers } = providerFeedback;
  const bodyStart = bodyStartOf(whole);
  const fields = fieldsOf(whole.toString('latin1', 0, bodyStart).replace(/(?:\r\n)+$/, ''));
  const replaced = fields.filter(({ lower }) => isEchoHeader(lower, providers));
  const given = replaced.map((field) => ({ name: field.lower, value: valueOf(field) }));
  const own = echoHeaders(given, providers, emailIdOf(stream)).map(({ name, value }) => customField(name, value));
  const head =
    replaced.length === 0
      ? undefined
      : `${fields.flatMap((field) => (replaced.includes(field) ? [] : [`${field.text}\r\n`])).join('')}\r\n`;
  return Buffer.concat([
    Buffer.from(own.join('') + (head ?? ''), 'latin1'),
    head === undefined ? whole : whole.subarray(bodyStart),
  ]);
};

const emailIdOf = (stream: StreamName): EmailId => assertDefined(parseEmailId(splitStream(stream).id), 'email id');

const replyToOf = ({ replyTo = [] }: Composing['content']): readonly Recipient[] =>
  typeof replyTo === 'string' ? [{ email: replyTo }] : replyTo;

/** The sizes of pictures that are attached to the mail. */
const sizesOf = (attachments: readonly ReadyAttachment[]): ReadonlyMap<string, PictureSize> => {
  const sizes = new Map<string, PictureSize>();
  for (const { contentId, contentType, bytes } of attachments) {
    const size = contentId === undefined ? undefined : shownSize(bytes, contentType);
    if (contentId !== undefined && size !== undefined)
      sizes.set(assetOfContentId(contentId) ?? `cid:${contentId}`, size);
  }
  return sizes;
};

const impossible = (fault: unknown): Impossible => {
  if (fault instanceof DomainError) return { reason: 'rendering', text: `${fault.code}: ${wholeText(fault)}` };
  throw fault;
};

const undamaged = <Loaded>(loading: Promise<Loaded>): Promise<Loaded | FileDamaged> =>
  loading.catch((fault: unknown) => {
    if (fault instanceof FileDamaged) return fault;
    throw fault;
  });

/**
 * Images that the rendering drew or decoded. Those of the gallery and of the call are among the attachments since
 * acceptance.
 */
const drawn = (image: InlineImage): readonly MessageAttachment[] => {
  if (!('bytes' in image)) return [];
  const { contentType, contentId, bytes } = image;
  const name = contentId.startsWith('picture-') ? 'picture' : 'qr-code';
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return [{ filename: `${name}.${contentType.slice('image/'.length)}`, contentType, contentId, content }];
};

/** `recipient`: the place in the email, whose content must be present. */
const copyPartsOf = (deps: CopyDeps, { stream, teamId }: Addressed, email: Email, recipient: number): CopyParts => {
  const emailId = assertDefined(parseEmailId(splitStream(stream).id), 'email id');
  const own = { emailId, recipient };
  return {
    ...unsubscribing(deps, assertDefined(parseTeamId(teamId), 'team id'), email, own),
    ...tracked(deps, email, own),
  };
};

type Own = Readonly<{ emailId: EmailId; recipient: number }>;

const unsubscribing = (
  deps: CopyDeps,
  teamId: TeamId,
  { accepted: { unsubscribeList: list, linksUrl }, content }: Email,
  { emailId, recipient }: Own,
): Pick<CopyParts, 'headers' | 'environment'> => {
  if (list === undefined) return { headers: [], environment: {} };
  const address = content!.recipients[recipient]!.email;
  const url = unsubscribeUrl(deps, linksUrl ?? linkBaseOf(deps), { teamId, emailId, recipient, address, list });
  const headers = [
    { name: 'List-Unsubscribe', value: `<${url}>` },
    { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
  ];
  return { headers, environment: { unsubscribeUrl: url } };
};

const tracked = (
  { trackingTokens: tokens, limits }: CopyDeps,
  { accepted: { tracking } }: Email,
  own: Own,
): Pick<CopyParts, 'rendering' | 'html'> => {
  if (tracking === undefined) return { rendering: {}, html: (rendered) => rendered };
  return {
    rendering: { marksUntracked: true },
    html: (rendered) => trackHtml(rendered, { tokens, tracking, sizeBytesMax: limits.htmlSizeBytesMax, ...own }),
  };
};

/**
 * The SMTP envelope. If a return path is set up, its sender address contains the email id, so that reports can be
 * assigned. `returnPath`: the relay wants another sender address.
 */
export const envelopeOf = (
  { feedback }: Pick<EmailNeeds, 'feedback'>,
  stream: StreamName,
  { from, to, returnPath }: Readonly<{ from: string; to: readonly string[]; returnPath?: ReturnPath | undefined }>,
): OutgoingMessage['envelope'] => {
  if (returnPath !== undefined) return { from: returnPath === 'sender' ? from : returnPath.address, to };
  if (feedback === undefined) return { from, to };
  const { id } = splitStream(stream);
  return { from: feedback.returnPath.senderOf(assertDefined(parseEmailId(id), 'email id')), to, reportsAs: id };
};
