/** Composes the mail of an email for its delivery: one for all recipients, or a copy for each, signed and tracked. */
import type { EmailNeeds } from '../../commands/email/needs.js';
import type { Email } from '../../domain/email/state.js';
import { echoHeaders, isEchoHeader } from '../../domain/email/feedback.js';
import {
  assertDefined,
  parseEmailId,
  parseTeamId,
  splitStream,
  type EmailId,
  type StreamName,
} from '../../domain/core/ids.js';
import type { CompiledEmail } from '../../domain/ports/renderer.js';
import { customField } from '../../domain/mime/header.js';
import { bodyStartOf, decodedWords, fieldsOf, inUtf8, valueOf } from '../../domain/mime/read.js';
import { needs8Bit } from '../../domain/mime/submitted.js';
import { trackHtml, type TrackingTokens } from '../../domain/recipients/tracking.js';
import type { OutgoingMessage, ReturnPath, SigningKey } from '../../domain/ports/mailer.js';
import type { ReadyAttachment } from '../../commands/documents/attachments.js';
import { domainOfAddress } from '../../commands/domains/sender-domains.js';
import {
  compiledMail,
  copyOfMessage,
  type CopyParts,
  filledMessage,
  messageOf,
  type RenderedSource,
  storedAttachments,
  unsubscribing,
} from '../../commands/email/message.js';
import { assertOwnSender } from '../../commands/email/sender.js';
import { DomainError, FileDamaged, KeyMissing, wholeText } from '../../domain/core/errors.js';
import { composeMessage } from '../../domain/mime/compose.js';
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

type Addressed = Readonly<{ stream: StreamName; teamId: string }>;

/** Loads template, attachments and the current signing keys of the sender. */
export const prepareMessage = async (
  deps: MessageDeps,
  { stream, teamId }: Addressed,
  email: Email,
): Promise<Prepared | Impossible | Damaged> => {
  const { content } = email;
  if (content === undefined) throw new KeyMissing(stream);
  try {
    // The email may have been accepted before the relay was set.
    assertOwnSender(deps, content.from);
  } catch (fault) {
    return impossible(fault);
  }
  const attachments = await undamaged<readonly ReadyAttachment[] | undefined>(storedAttachments(deps, stream, content));
  if (attachments instanceof FileDamaged) return { damaged: attachments };
  if (attachments === undefined) return { reason: 'content-lost', text: 'an attachment of this email is gone' };
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
    render = await compiledMail(deps, email, content);
  } catch (fault) {
    return impossible(fault);
  }
  return {
    message: (recipient) => {
      try {
        const parts = recipient === undefined ? undefined : copyPartsOf(deps, { stream, teamId }, email, recipient);
        return {
          from: content.from.email,
          raw: composed(deps, stream, { email, content, render, attachments }, parts),
          signWith,
        };
      } catch (fault) {
        return impossible(fault);
      }
    },
  };
};

const composed = (
  deps: MessageDeps,
  stream: StreamName,
  source: RenderedSource,
  parts: CopyParts | undefined,
): Buffer => {
  const { headers = [], ...message } = messageOf(deps.clock, source, parts);
  const beganMs = deps.composed === undefined ? 0 : deps.clock.monotonic();
  const raw = composeMessage({ ...message, headers: echoing(deps, stream, headers) });
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
  const given = replaced.map((field) => ({
    name: field.lower,
    value: decodedWords(inUtf8(valueOf(field)) ?? valueOf(field)),
  }));
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

const impossible = (fault: unknown): Impossible => {
  if (fault instanceof DomainError) return { reason: 'rendering', text: `${fault.code}: ${wholeText(fault)}` };
  throw fault;
};

const undamaged = <Loaded>(loading: Promise<Loaded>): Promise<Loaded | FileDamaged> =>
  loading.catch((fault: unknown) => {
    if (fault instanceof FileDamaged) return fault;
    throw fault;
  });

/** `recipient`: the place in the email, whose content must be present. */
const copyPartsOf = (deps: CopyDeps, { stream, teamId }: Addressed, email: Email, recipient: number): CopyParts => {
  const emailId = assertDefined(parseEmailId(splitStream(stream).id), 'email id');
  const own = { emailId, recipient };
  return {
    ...unsubscribing(deps, email, { teamId: assertDefined(parseTeamId(teamId), 'team id'), ...own }),
    ...tracked(deps, email, own),
  };
};

type Own = Readonly<{ emailId: EmailId; recipient: number }>;

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
