/** Webhooks: subscriptions, what came of their deliveries, tries again, replays, and new secrets. */
import { useMemo, useState } from 'react';
import type {
  CreateWebhookData,
  CreateWebhookResponse,
  DeleteWebhookData,
  DeleteWebhookResponse,
  GetWebhookData,
  GetWebhookResponse,
  ListWebhookDeliveriesData,
  ListWebhookDeliveriesResponse,
  ListWebhookEventsData,
  ListWebhookEventsResponse,
  ListWebhooksData,
  ListWebhooksResponse,
  ReplayWebhookData,
  ReplayWebhookResponse,
  RestoreWebhookData,
  RestoreWebhookResponse,
  RetryWebhookDeliveryData,
  RetryWebhookDeliveryResponse,
  RotateWebhookSecretData,
  RotateWebhookSecretResponse,
  TestWebhookData,
  TestWebhookResponse,
  UpdateWebhookData,
  UpdateWebhookResponse,
} from '#api';
import { operation } from '../api/client';
import { ResourceList, resourcePages, Section } from '../resources/pages';
import styles from '../resources/page.module.css';
import { bodyOf, changeOf, type Field, type Resource } from '../resources/resource';
import { Codes, deletedFilter, queryOf } from '../resources/values';
import { Button } from '../ui/controls';
import { StatusBadge } from '../ui/status';
import { Moment } from '../ui/time';

const BASE = '/api/v1/webhook-subscriptions';
const list = operation<ListWebhooksData, ListWebhooksResponse>('GET', BASE);
const create = operation<CreateWebhookData, CreateWebhookResponse>('POST', BASE);
const get = operation<GetWebhookData, GetWebhookResponse>('GET', `${BASE}/{id}`);
const update = operation<UpdateWebhookData, UpdateWebhookResponse>('PATCH', `${BASE}/{id}`);
const remove = operation<DeleteWebhookData, DeleteWebhookResponse>('DELETE', `${BASE}/{id}`);
const restore = operation<RestoreWebhookData, RestoreWebhookResponse>('POST', `${BASE}/{id}/restore`);
const rotate = operation<RotateWebhookSecretData, RotateWebhookSecretResponse>('POST', `${BASE}/{id}/rotate-secret`);
const test = operation<TestWebhookData, TestWebhookResponse>('POST', `${BASE}/{id}/test`);
const replay = operation<ReplayWebhookData, ReplayWebhookResponse>('POST', `${BASE}/{id}/replay`);
const listEvents = operation<ListWebhookEventsData, ListWebhookEventsResponse>('GET', `${BASE}/{id}/events`);
const listDeliveries = operation<ListWebhookDeliveriesData, ListWebhookDeliveriesResponse>(
  'GET',
  `${BASE}/{id}/deliveries`,
);
const retry = operation<RetryWebhookDeliveryData, RetryWebhookDeliveryResponse>(
  'POST',
  `${BASE}/{id}/deliveries/{deliveryId}/retry`,
);

type Webhook = GetWebhookResponse;
type Delivery = ListWebhookDeliveriesResponse['deliveries'][number];
type Event = ListWebhookEventsResponse['events'][number];

const kinds: Readonly<Record<CreateWebhookData['body']['events'][number], string>> = {
  'email.sent': 'The relay took it',
  'email.delivered': 'The mailbox took it',
  'email.bounced': 'It came back',
  'email.complained': 'A reader called it spam',
  'email.opened': 'It was opened',
  'email.clicked': 'A link was followed',
  'email.queued': 'It waits to be sent',
  'email.scheduled': 'It waits for its time',
  'email.deferred': 'A server asked to try later',
  'email.failed': 'It was given up',
  'email.suppressed': 'The address is suppressed',
  'email.cancelled': 'It was cancelled',
  'email.unsubscribed': 'A reader unsubscribed',
  'batch.completed': 'A bulk send is done',
  'batch.cancelled': 'A bulk send was cancelled',
  'domain.alerted': 'A sender domain has many bounces or complaints',
};

const events = (initial: readonly string[]): Field => ({
  name: 'events',
  label: 'Events',
  kind: 'checks',
  isRequired: true,
  initial,
  choices: Object.entries(kinds).map(([value, hint]) => ({ value, label: value, hint })),
});

const fields = (webhook?: Webhook): readonly Field[] => [
  {
    name: 'url',
    label: 'URL',
    kind: 'url',
    isRequired: true,
    placeholder: 'https://',
    hint: 'Events are posted there, signed. HTTPS on a public address.',
    initial: webhook?.url ?? '',
  },
  events(webhook?.events ?? ['email.delivered', 'email.bounced', 'email.failed', 'email.complained']),
  { name: 'description', label: 'Description', kind: 'area', empty: '', initial: webhook?.description ?? '' },
  {
    name: 'enabled',
    label: 'Enabled: events that occur while it is not are sent by a replay only',
    kind: 'switch',
    initial: webhook?.enabled ?? true,
  },
];

const stateOf = ({ enabled, deletedAt }: Webhook): string =>
  deletedAt !== undefined ? 'deleted' : enabled ? 'enabled' : 'disabled';

const reasons = { gone: 'The endpoint answered 410 Gone.', failing: 'It failed for five days.' } as const;

/** A delivery in words. */
const outcomeOf = ({ statusCode, responseTime, error }: Delivery): string =>
  statusCode === undefined ? (error ?? 'no answer') : `${statusCode} in ${responseTime.toLocaleString()} ms`;

const deliveriesOf = (id: string): Resource<Delivery> => ({
  path: `/webhooks/${id}/deliveries`,
  one: 'delivery',
  many: 'deliveries',
  needs: 'webhooks:manage',
  about: 'Each attempt to post an event stands here, with the answer of your endpoint. Send a test event to see one.',
  idOf: (delivery) => `${delivery.id} ${delivery.attempt}`,
  titleOf: ({ event, attemptedAt }) => `${event} of ${attemptedAt}`,
  list: async (query, { teamId }, signal) => {
    const { deliveries, nextCursor } = await listDeliveries(
      { path: { id }, query: queryOf(query) },
      { teamId, signal },
    );
    return { data: deliveries, meta: { nextCursor } };
  },
  columns: [
    { name: 'Event', cell: ({ event }) => <code>{event}</code> },
    { name: 'Result', cell: ({ status }) => <StatusBadge status={status} /> },
    {
      name: 'Answer',
      cell: (delivery) =>
        delivery.response === undefined || delivery.response === '' ? (
          outcomeOf(delivery)
        ) : (
          <details>
            <summary>{outcomeOf(delivery)}</summary>
            <pre className={styles['pre']} tabIndex={0} aria-label="Answer of the endpoint">
              {delivery.response}
            </pre>
          </details>
        ),
    },
    { name: 'Attempt', cell: ({ attempt }) => attempt, isEnd: true },
    { name: 'At', cell: ({ attemptedAt }) => <Moment at={attemptedAt} /> },
    {
      name: 'Next',
      cell: ({ nextRetryAt }) => (nextRetryAt === undefined ? '' : <Moment at={nextRetryAt} />),
      isWide: true,
    },
  ],
  acts: [
    {
      label: 'Try again',
      isFor: ({ status }) => status === 'failed',
      run: async (delivery, _values, { teamId }) => {
        await retry({ path: { id, deliveryId: delivery.id } }, { teamId });
        return { say: `The event ${delivery.event} is posted again within seconds.` };
      },
    },
  ],
  refreshMs: () => 10_000,
});

const eventsOf = (id: string): Resource<Event> => ({
  path: `/webhooks/${id}/events`,
  one: 'event',
  many: 'events',
  needs: 'webhooks:manage',
  about: 'Events of your emails stand here, the oldest first, with the bodies that are posted.',
  idOf: (event) => event.id,
  titleOf: ({ event }) => event,
  list: async ({ cursor, limit }, { teamId }, signal) => {
    const query = { limit, ...(cursor === undefined ? {} : { after: cursor }) };
    const answer = await listEvents({ path: { id }, query }, { teamId, signal });
    return { data: answer.events, meta: { nextCursor: answer.hasMore ? (answer.events.at(-1)?.id ?? null) : null } };
  },
  columns: [
    { name: 'Event', cell: ({ event }) => <code>{event}</code> },
    { name: 'At', cell: ({ timestamp }) => <Moment at={timestamp} /> },
    {
      name: 'Body',
      cell: ({ body }) =>
        body === null ? (
          'erased'
        ) : (
          <details>
            <summary>JSON</summary>
            <pre className={styles['pre']} tabIndex={0} aria-label="Body of the event">
              {body}
            </pre>
          </details>
        ),
    },
  ],
});

const More = ({ row: { id } }: Readonly<{ row: Webhook }>) => {
  const deliveries = useMemo(() => deliveriesOf(id), [id]);
  const events = useMemo(() => eventsOf(id), [id]);
  const [isShown, setIsShown] = useState(false);
  return (
    <>
      <Section title="Deliveries">
        <ResourceList resource={deliveries} />
      </Section>
      <Section
        title="Events"
        {...(isShown
          ? {}
          : {
              about: 'The events of this subscription with the bodies that are posted.',
              buttons: <Button onPress={() => setIsShown(true)}>Show the events</Button>,
            })}
      >
        {isShown ? <ResourceList resource={events} /> : null}
      </Section>
    </>
  );
};

export default resourcePages<Webhook>({
  path: '/webhooks',
  one: 'webhook',
  many: 'Webhooks',
  needs: 'webhooks:manage',
  about: 'A webhook posts to your program what becomes of emails, as soon as it is known.',
  idOf: ({ id }) => id,
  titleOf: ({ url }) => url,
  list: (query, { teamId }, signal) => list({ query: queryOf(query) }, { teamId, signal }),
  get: (id, { teamId }, signal) => get({ path: { id } }, { teamId, signal }),
  hasPage: ({ deletedAt }) => deletedAt === undefined,
  filters: [deletedFilter],
  columns: [
    { name: 'URL', cell: ({ url }) => url },
    { name: 'Status', cell: (webhook) => <StatusBadge status={stateOf(webhook)} /> },
    { name: 'Events', cell: ({ events }) => events.length, isEnd: true },
    { name: 'Description', cell: ({ description }) => description ?? '', isWide: true },
    { name: 'Changed', cell: ({ updatedAt }) => <Moment at={updatedAt} />, isWide: true },
  ],
  badge: (webhook) => <StatusBadge status={stateOf(webhook)} />,
  facts: (webhook) => [
    webhook.disabledReason === undefined ? undefined : ['Disabled because', reasons[webhook.disabledReason]],
    ['Events', <Codes key="events" of={webhook.events} />],
    webhook.description === undefined ? undefined : ['Description', webhook.description],
    ['Made', <Moment key="made" at={webhook.createdAt} />],
    ['Id', <code key="id">{webhook.id}</code>],
  ],
  More,
  create: {
    label: 'Add a webhook',
    fields: () => fields(),
    run: async (values, { teamId }) => {
      const made = await create({ body: bodyOf(fields(), values) }, { teamId });
      return {
        say: `Events are posted to ${made.url} from now on.`,
        secret: {
          title: 'Copy the signing secret',
          text: 'Your program checks with it that an event comes from here. It is shown this once.',
          value: made.secret,
        },
        open: `/webhooks/${made.id}`,
      };
    },
  },
  change: {
    fields,
    run: async ({ id }, changed, { teamId }) => {
      await update({ path: { id }, body: changeOf(fields(), changed) }, { teamId });
      return { say: 'The webhook is changed.' };
    },
  },
  acts: [
    {
      label: 'Send a test event',
      isFor: ({ deletedAt }) => deletedAt === undefined,
      run: async ({ id }, _values, { teamId }) => {
        const delivery = await test({ path: { id } }, { teamId });
        return { say: `Test event: ${delivery.status}, ${outcomeOf(delivery)}.` };
      },
    },
    {
      label: 'Replay',
      isFor: ({ deletedAt }) => deletedAt === undefined,
      ask: () => ({
        title: 'Send events again',
        text: (
          <p>
            Events since that moment are posted again, with the same ids. Those that the webhook missed are posted, too.
          </p>
        ),
      }),
      fields: () => [
        { name: 'since', label: 'Since', kind: 'moment', isRequired: true },
        { name: 'until', label: 'Until', kind: 'moment', hint: 'Empty: until now' },
      ],
      run: async ({ id }, values, { teamId }) => {
        const body = bodyOf<ReplayWebhookData['body']>(
          [
            { name: 'since', label: '', kind: 'moment' },
            { name: 'until', label: '', kind: 'moment' },
          ],
          values,
        );
        await replay({ path: { id }, body }, { teamId });
        return { say: 'The events are posted again, in the order in which they occurred.' };
      },
    },
    {
      label: 'Rotate the secret',
      isFor: ({ deletedAt }) => deletedAt === undefined,
      ask: () => ({
        title: 'Make another signing secret?',
        text: <p>Events are signed by both secrets for a while, so that your program can change to the new one.</p>,
      }),
      fields: () => [
        {
          name: 'overlapHours',
          label: 'Hours for which the old one signs, too',
          kind: 'number',
          isRequired: true,
          initial: '24',
          hint: '0 to 168',
        },
      ],
      run: async ({ id }, { overlapHours }, { teamId }) => {
        const { secret } = await rotate({ path: { id }, body: { overlapHours: Number(overlapHours) } }, { teamId });
        return {
          say: 'The secret is rotated.',
          secret: { title: 'Copy the new signing secret', text: 'It is shown this once.', value: secret },
        };
      },
    },
    {
      label: 'Restore',
      isFor: ({ deletedAt }) => deletedAt !== undefined,
      run: async ({ id, url }, _values, { teamId }) => {
        await restore({ path: { id } }, { teamId });
        return { say: `Events are posted to ${url} again.` };
      },
    },
    {
      label: 'Delete',
      look: 'danger',
      isFor: ({ deletedAt }) => deletedAt === undefined,
      ask: ({ url }) => ({
        title: 'Delete this webhook?',
        text: (
          <p>
            Posting to <code>{url}</code> stops at once. For 30 days it can be restored; then its secret and the records
            of its deliveries are destroyed.
          </p>
        ),
      }),
      run: async ({ id, url }, _values, { teamId }) => {
        await remove({ path: { id } }, { teamId });
        return { say: `The webhook of ${url} is deleted.`, isGone: true };
      },
    },
    {
      label: 'Delete for good',
      look: 'danger',
      isFor: ({ deletedAt }) => deletedAt !== undefined,
      ask: ({ url }) => ({
        title: 'Delete for good?',
        text: (
          <p>
            The URL <code>{url}</code>, its secret and the records of its deliveries are destroyed at once.
          </p>
        ),
      }),
      run: async ({ id }, _values, { teamId }) => {
        await remove({ path: { id }, query: { permanently: true } }, { teamId });
        return { say: 'The webhook is destroyed.' };
      },
    },
  ],
});
