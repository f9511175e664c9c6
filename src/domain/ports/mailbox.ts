/** The built-in mailbox: a final host on loopback into which one can look. It keeps the newest mails, up to a bound. */

export type MailboxAddress = Readonly<{ address: string; name: string }>;

export type MailboxEntry = Readonly<{
  id: string;
  from: MailboxAddress;
  to: readonly MailboxAddress[];
  subject: string;
  /** ISO time. */
  receivedAt: string;
  sizeBytes: number;
}>;

export type MailboxAttachment = Readonly<{
  filename: string;
  contentType: string;
  contentId: string | null;
  sizeBytes: number;
}>;

export type MailboxMessage = MailboxEntry &
  Readonly<{
    cc: readonly MailboxAddress[];
    /** The envelope as the SMTP client gave it: recipients in blind copy stand only here. */
    envelope: Readonly<{ from: string; to: readonly string[] }>;
    html: string | null;
    text: string | null;
    headers: readonly Readonly<{ name: string; value: string }>[];
    attachments: readonly MailboxAttachment[];
  }>;

/** Copies of mails that this service keeps beside its log. */
export type MailCopies = Readonly<{
  /** Deletes every copy with that Message-ID; seconds later no file holds anything of it. */
  forgetCopies: (messageId: string) => Promise<void>;
}>;

export type Mailbox = Readonly<{
  /** Newest first; `page` counts from 1. `total` is the number of all messages. */
  list: (
    options: Readonly<{ page: number; limit: number }>,
  ) => Promise<Readonly<{ entries: readonly MailboxEntry[]; total: number }>>;
  get: (id: string) => Promise<MailboxMessage | undefined>;
  raw: (id: string) => Promise<Buffer | undefined>;
  /** The decoded content of the attachment at that index. */
  attachment: (
    id: string,
    index: number,
  ) => Promise<Readonly<{ attachment: MailboxAttachment; content: Buffer }> | undefined>;
  /** Deletes all messages; answers how many. */
  clear: () => Promise<number>;
  /** Deletes the messages received before that ISO time; answers how many. */
  forgetBefore: (time: string) => Promise<number>;
}> &
  MailCopies;
