/** Reads stored messages with postal-mime: the header for lists, the whole for one message. */
import PostalMime, { type Address, type Email } from 'postal-mime';
import type { MailboxAddress, MailboxAttachment, MailboxMessage } from '../../domain/ports/mailbox.js';
import type { Envelope, Summary } from './message-table.js';

export type ParsedMessage = Pick<MailboxMessage, 'cc' | 'html' | 'text' | 'headers'> &
  Readonly<{
    attachments: readonly Readonly<{ attachment: MailboxAttachment; content: Buffer }>[];
  }>;

const partsDepthMax = 64;
const subjectCharsMax = 1_000;

const parse = (raw: Uint8Array): Promise<Email> =>
  new PostalMime({ attachmentEncoding: 'arraybuffer', forceRfc822Attachments: true, maxNestingDepth: partsDepthMax }).parse(raw);

/** What a list shows. A header that cannot be read gives the envelope's addresses: no message is turned away for its form. */
export const summaryOf = async (raw: Buffer, envelope: Envelope): Promise<Summary> => {
  const end = raw.indexOf('\r\n\r\n');
  const head = await parse(end < 0 ? raw : raw.subarray(0, end + 4)).catch(() => undefined);
  const to = addressesOf(head?.to);
  return {
    from: addressesOf(head?.from)[0] ?? { address: envelope.from, name: '' },
    to: to.length > 0 ? to : envelope.to.map((address) => ({ address, name: '' })),
    subject: (head?.subject ?? '').slice(0, subjectCharsMax),
  };
};

/** The whole message; one that cannot be parsed is shown as the text that it is. */
export const parsedMessage = async (raw: Buffer): Promise<ParsedMessage> => {
  const mail = await parse(raw).catch(() => undefined);
  if (mail === undefined) return { cc: [], html: null, text: raw.toString('utf8'), headers: [], attachments: [] };
  return {
    cc: addressesOf(mail.cc),
    html: mail.html ?? null,
    text: mail.text ?? null,
    headers: mail.headers.map(({ originalKey, value }) => ({ name: originalKey, value })),
    attachments: mail.attachments.map((one) => {
      const content = bytesOf(one.content);
      return {
        attachment: {
          filename: one.filename ?? 'attachment',
          contentType: one.mimeType,
          contentId: one.contentId === undefined ? null : one.contentId.replace(/^<|>$/g, ''),
          sizeBytes: content.length,
        },
        content,
      };
    }),
  };
};

const bytesOf = (content: ArrayBuffer | Uint8Array | string): Buffer => {
  if (typeof content === 'string') return Buffer.from(content);
  return content instanceof Uint8Array ? Buffer.from(content.buffer, content.byteOffset, content.byteLength) : Buffer.from(content);
};

const addressesOf = (parsed: Address | readonly Address[] | undefined): readonly MailboxAddress[] =>
  [parsed ?? []]
    .flat()
    .flatMap((one) =>
      one.group === undefined ? [{ address: one.address, name: one.name }] : one.group.map(({ address, name }) => ({ address, name })),
    );

const messageIdCharsMax = 998;
const MESSAGE_ID = /^message-id:[ \t]*(?:\r?\n[ \t]+)?([^\r\n]*)/im;

/** The Message-ID of a message without its angle brackets; empty where it has none. */
export const messageIdOf = (raw: Buffer): string => {
  const end = raw.indexOf('\r\n\r\n');
  const head = (end < 0 ? raw : raw.subarray(0, end)).toString('latin1');
  return bareMessageId(MESSAGE_ID.exec(head)?.[1] ?? '').slice(0, messageIdCharsMax);
};

export const bareMessageId = (messageId: string): string => messageId.replace(/[<>\s]/g, '');
