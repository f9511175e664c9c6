/** A transport for nodemailer: programs that use it send by sealpost without another change. */
import type { Client } from './operations.js';
import type { SendEmailRequest } from './types.gen.js';

type Address = Readonly<{ name?: string; address: string }>;

/** The fields of a mail that nodemailer has read: addresses parsed, files and texts loaded. */
type Mail = Readonly<{
  from?: Address;
  to?: readonly Address[];
  cc?: readonly Address[];
  bcc?: readonly Address[];
  replyTo?: readonly Address[];
  subject?: string;
  html?: string | Uint8Array;
  text?: string | Uint8Array;
  priority?: 'high' | 'normal' | 'low';
  headers?: Readonly<Record<string, unknown>>;
  attachments?: readonly Readonly<{
    filename?: string | false;
    content?: string | Uint8Array;
    encoding?: string;
    contentType?: string;
    cid?: string;
  }>[];
}>;

type Message = Readonly<{
  normalize: (done: (fault: Error | null, mail?: Mail) => void) => void;
  /** Fields of `sendMail` that nodemailer does not know, such as `sealpost`. */
  data: Readonly<{ sealpost?: Partial<SendEmailRequest> & Readonly<{ idempotencyKey?: string }> }>;
}>;

type Sent = Readonly<{
  envelope: Readonly<{ from: string | false; to: readonly string[] }>;
  messageId: string;
  /** Id of the email in sealpost. */
  id: string;
  accepted: readonly string[];
  rejected: readonly string[];
  response: string;
}>;

/**
 * In: a client. Out: a transport for `nodemailer.createTransport`. Options that only sealpost has (tags, metadata,
 * scheduledAt, templateId, idempotencyKey …) are given as `sendMail({ …, sealpost: { tags: ['welcome'] } })`.
 */
export const sealpostTransport = (client: Pick<Client, 'send'>) => ({
  name: 'sealpost',
  version: '1',
  send: (message: Message, done: (fault: Error | null, sent?: Sent) => void): void => {
    message.normalize((fault, mail) => {
      if (fault !== null || mail === undefined) done(fault ?? new Error('The mail is empty.'));
      else
        deliver(client, mail, message.data.sealpost ?? {}).then(
          (sent) => done(null, sent),
          (refusal: unknown) => done(refusal instanceof Error ? refusal : new Error(String(refusal))),
        );
    });
  },
});

const deliver = async (
  client: Pick<Client, 'send'>,
  mail: Mail,
  { idempotencyKey, ...extras }: NonNullable<Message['data']['sealpost']>,
): Promise<Sent> => {
  const { to = [], cc = [], bcc = [], replyTo = [], from, subject = '', priority, headers } = mail;
  const html = textOf(mail.html);
  const text = textOf(mail.text);
  const content =
    extras.templateId !== undefined
      ? {}
      : { content: html === undefined ? { subject, text: text ?? '' } : { subject, html, ...(text && { text }) } };
  const attachments = (mail.attachments ?? []).map(({ filename, content = '', encoding, contentType, cid }) => ({
    filename: filename || 'attachment',
    content: base64Of(content, encoding),
    contentType: contentType ?? 'application/octet-stream',
    ...(cid === undefined ? {} : { contentId: cid }),
  }));
  const { id, messageId } = await client.send(
    {
      to: to.map(recipientOf),
      ...(cc.length > 0 && { cc: cc.map(recipientOf) }),
      ...(bcc.length > 0 && { bcc: bcc.map(recipientOf) }),
      ...(replyTo.length > 0 && { replyTo: replyTo.map(recipientOf) }),
      ...(from !== undefined && { from: recipientOf(from) }),
      ...(priority !== undefined && { priority }),
      ...(headers !== undefined && Object.keys(headers).length > 0 && { headers: fieldsOf(headers) }),
      ...(attachments.length > 0 && { attachments }),
      ...content,
      ...extras,
    },
    idempotencyKey === undefined ? {} : { idempotencyKey },
  );
  const accepted = [...to, ...cc, ...bcc].map(({ address }) => address);
  return {
    envelope: { from: from?.address ?? false, to: accepted },
    ...{ messageId, id, accepted, rejected: [], response: `queued as ${id}` },
  };
};

const recipientOf = ({ name, address }: Address) => ({ email: address, ...(name ? { name } : {}) });

const textOf = (value: string | Uint8Array | undefined): string | undefined =>
  value === undefined || typeof value === 'string' ? value : new TextDecoder().decode(value);

const fieldsOf = (headers: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

const base64Of = (content: string | Uint8Array, encoding: string | undefined): string => {
  if (typeof content === 'string' && encoding === 'base64') return content.replace(/\s+/g, '');
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  let signs = '';
  for (const byte of bytes) signs += String.fromCharCode(byte);
  return btoa(signs);
};
