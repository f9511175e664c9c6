/** Plain words for the codes of an email and of its timeline. The dashboard and the command line show them. */

/** An entry of the timeline of an email, as the API gives it. */
export type ToldEntry = Readonly<{ kind: string; actor: string; details: Readonly<Record<string, unknown>> }>;

const reasons: Readonly<Record<string, string>> = {
  bounced: 'The receiving host refused it for good.',
  refused: 'The receiving host refused it.',
  blocked: 'The receiving host refuses mail of this sender or with this content.',
  'attempts-spent': 'Every attempt failed, and there are none left.',
  rendering: 'No mail could be made of the template and its values.',
  'content-lost': 'The content of the mail is lost.',
  'attachment-damaged': 'A stored attachment is damaged.',
  suppressed: 'Every recipient is on the suppression list.',
};

/** In: `failureReason` of a record or an item of the list. */
export const reasonInWords = (reason: string): string => reasons[reason] ?? `${spoken(reason)}.`;

const rules: Readonly<Record<string, string>> = {
  'authentication-failed': 'The relay did not accept the login of sealpost.',
  'authentication-required': 'The host asks for a login.',
  'command-refused': 'The host refused a command.',
  'content-refused': 'The host refused the content.',
  'domain-takes-no-mail': 'The domain takes no mail.',
  'domain-unknown': 'The domain does not exist.',
  greylisted: 'The host asks unknown senders to try again later.',
  'host-refused': 'The host refuses the address or name of the sending host.',
  'list-or-mailbox-refused': 'The mailbox or mailing list takes no mail from this sender.',
  'mailbox-disabled': 'The mailbox is closed.',
  'mailbox-full': 'The mailbox is full.',
  'mailbox-moved': 'The mailbox has moved to another address.',
  'mailbox-unknown': 'There is no such mailbox.',
  'message-too-large': 'The mail is too large for the host.',
  'policy-refused': 'A policy of the host forbids the mail.',
  'protocol-error': 'The host answered against the protocol.',
  'rate-limited': 'The host takes only so many mails for now.',
  'recipient-refused': 'The host refused the recipient without saying why.',
  'relay-denied': 'The host does not relay mail to this address.',
  'sender-not-authenticated': 'SPF, DKIM or DMARC of the sender do not pass.',
  'sender-refused': 'The host refuses the sender address.',
  'sending-limit': 'A sending limit is reached.',
  'service-closing': 'The host was closing.',
  'session-refused': 'The host took no session.',
  'spam-suspected': 'The host takes it for spam.',
  'too-many-recipients': 'Too many recipients for one mail.',
  'try-later': 'The host asks to try again later.',
};

/** In: the rule that classified an SMTP reply. Out: a sentence; undefined if the reply says enough. */
export const ruleInWords = (rule: string | null): string | undefined => (rule === null ? undefined : rules[rule]);

/** In: a name such as `attempts-spent` or `EmailQueued`. */
const spoken = (name: string): string => {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('-', ' ')
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** In: an actor of the log. */
export const actorInWords = (actor: string): string => {
  const [kind = '', id = ''] = actor.split(/:(.*)/s, 2);
  switch (kind) {
    case 'apiKey':
      return `API key ${id}`;
    case 'user':
      return `a member (${id.slice(0, 8)}…)`;
    case 'cli':
      return 'the command line';
    default:
      return 'sealpost';
  }
};

const isByPerson = ({ actor }: ToldEntry): boolean => /^(?:apiKey|user|oauthApp|cli)\b/.test(actor);

type Words = Readonly<{ title: string; text?: string; at?: string; tone: 'good' | 'bad' | 'warn' | 'busy' | 'still' }>;

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** In: an entry of the timeline. Out: a title; `text`: more of it; `at`: the moment that the text leads up to. */
export const entryInWords = (entry: ToldEntry): Words => {
  const { kind, details } = entry;
  const host = text(details['relay']) ?? text(details['host']);
  const by = isByPerson(entry) ? `By ${actorInWords(entry.actor)}` : undefined;
  const withBy = by === undefined ? {} : { text: by };
  const attempt = typeof details['attempt'] === 'number' ? details['attempt'] : undefined;
  switch (kind) {
    case 'EmailQueued':
      return { title: 'Accepted', ...withBy, tone: 'busy' };
    case 'EmailScheduled':
      return { title: 'Accepted for later', text: 'It leaves at', ...atOf(details['scheduledAt']), tone: 'still' };
    case 'EmailRescheduled':
      return { title: 'Another time was set', text: 'It leaves at', ...atOf(details['scheduledAt']), tone: 'still' };
    case 'EmailReleased':
      return { title: 'Its time came', ...withBy, tone: 'busy' };
    case 'DeliveryAttempted': {
      const passed = text(details['passedRelays']);
      return {
        title: `Attempt ${attempt ?? ''} began`.replace('  ', ' '),
        ...(host === undefined ? {} : { text: `At ${host}${passed === undefined ? '' : `, after ${passed}`}` }),
        tone: 'busy',
      };
    }
    case 'CopyAnswered':
      return { title: 'A copy was answered', ...(host === undefined ? {} : { text: `By ${host}` }), tone: 'still' };
    case 'EmailSent':
      return { title: 'Handed over', ...(host === undefined ? {} : { text: `${host} took it` }), tone: 'good' };
    case 'EmailDeferred':
      return { title: 'Put off', text: 'Next attempt', ...atOf(details['nextAttemptAt']), tone: 'warn' };
    case 'EmailBounced':
      return { title: 'Refused for good', ...(host === undefined ? {} : { text: `By ${host}` }), tone: 'bad' };
    case 'EmailFailed':
      return { title: 'Failed', text: reasonInWords(text(details['reason']) ?? 'refused'), tone: 'bad' };
    case 'EmailDelivered':
      return { title: 'Delivered', text: 'The receiving side reported it', tone: 'good' };
    case 'EmailBounceReported':
      return { title: 'Came back', text: 'A report said that it was not delivered', tone: 'bad' };
    case 'EmailComplained':
      return { title: 'Marked as spam', ...withFeedback(details['feedbackType']), tone: 'warn' };
    case 'ProviderEventKept':
      return {
        title: 'The provider told something else',
        text: `${text(details['provider']) ?? ''} ${text(details['payload']) ?? ''}`.trim(),
        tone: 'still',
      };
    case 'EmailRetried':
      return { title: 'Tried again by hand', ...withBy, tone: 'busy' };
    case 'EmailCancelled':
      return { title: 'Cancelled', ...withBy, tone: 'still' };
    case 'RecipientsSuppressed':
      return { title: 'Not sent', text: 'The address is on the suppression list', tone: 'warn' };
    case 'EmailBouncesNoted':
    case 'AddressSuppressed':
      return { title: 'Address suppressed', text: 'Nothing is sent to it until that is lifted', tone: 'warn' };
    case 'RecipientsErased':
      return { title: 'Recipient erased', text: 'Their personal data is destroyed', tone: 'still' };
    case 'EmailOpened':
      return { title: details['machine'] === true ? 'Opened by a machine' : 'Opened', tone: 'good' };
    case 'EmailClicked':
      return { title: 'Link clicked', ...withUrl(details['url']), tone: 'good' };
    case 'EmailArchived':
      return { title: 'Archived', text: 'Addresses, subject, content and values are destroyed', tone: 'still' };
    case 'WebhookAttempted':
      return webhookInWords(entry);
    default:
      return { title: spoken(kind), ...withBy, tone: 'still' };
  }
};

const atOf = (value: unknown): Readonly<{ at?: string }> => {
  const at = text(value);
  return at === undefined ? {} : { at };
};

const withFeedback = (type: unknown): Readonly<{ text?: string }> => {
  const name = text(type);
  return name === undefined || name === 'abuse' ? {} : { text: name };
};

const withUrl = (url: unknown): Readonly<{ text?: string }> => {
  const address = text(url);
  return address === undefined ? {} : { text: address };
};

const webhookInWords = ({ details }: ToldEntry): Words => {
  const name = text(details['event']) ?? '';
  const code = details['statusCode'];
  const error = text(details['error']);
  const isDone = details['status'] === 'delivered' || details['status'] === 'success';
  const answer = typeof code === 'number' ? `The endpoint answered ${code}` : (error ?? 'The endpoint did not answer');
  const next = text(details['nextRetryAt']);
  return {
    title: `Webhook ${name}`,
    text: next === undefined ? answer : `${answer.replace(/\.$/, '')}. Next attempt`,
    ...(next === undefined ? {} : { at: next }),
    tone: isDone || (typeof code === 'number' && code < 300) ? 'still' : 'warn',
  };
};
