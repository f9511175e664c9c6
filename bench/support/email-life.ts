/**
 * The events of emails as they usually go, made up by a seed: a few templates, many customers, most mails delivered.
 */
import type { EmailEvent } from '../../src/domain/email/events.js';
import type { Cause } from '../../src/event-log/event-log.js';
import {
  emailStream,
  assertDefined,
  parseEmailId,
  parseTeamId,
  type StreamName,
  type TeamId,
} from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { orderRequest } from './orders.js';
import { company } from './company.js';

export const teamA: TeamId = assertDefined(parseTeamId('018f0000-0000-7000-8000-00000000000a'), 'team id');
export const teamB: TeamId = assertDefined(parseTeamId('018f0000-0000-7000-8000-00000000000b'), 'team id');

export type Life = Readonly<{ stream: StreamName; cause: Cause; events: readonly EmailEvent[] }>;

const templates = Array.from({ length: 8 }, (_, n) => ({
  id: `018f0000-0000-7000-8000-0000000001${n.toString(16).padStart(2, '0')}`,
  name: [
    'Order confirmation',
    'Sign-in code',
    'Newsletter',
    'Shipping notice',
    'Invoice',
    'Welcome',
    'Password reset',
    'Review request',
  ][n]!,
}));
const subjects = [
  'Your order {n} is confirmed',
  'Your sign-in code',
  'News from the roastery',
  'Order {n} is on its way',
  'Invoice {n}',
  'Welcome to Northwind Coffee',
  'Set a new password',
  'How was order {n}?',
];
const firstNames = [
  'Ada',
  'Grace',
  'Edsger',
  'Barbara',
  'Donald',
  'Frances',
  'Tony',
  'Jørgen',
  'Niklaus',
  'Radia',
  'Łukasz',
  'Mei',
  'Olu',
  'Siobhán',
  'Zoë',
  'Hiroshi',
];
const lastNames = [
  'Example',
  'Hopper',
  'Dijkstra',
  'Liskov',
  'Knuth',
  'Allen',
  'Hoare',
  'Sørensen',
  'Wirth',
  'Perlman',
  'Nowak',
  'Chen',
  'Adeyemi',
  'Murphy',
  'Müller',
  'Tanaka',
];
const domains = ['example.com', 'example.org', 'mail.example.net', 'post.example.co.uk'];

/**
 * The fate of the deliveries of the n-th email: of a thousand 965 are delivered, 15 bounced, 10 failed, 10 still
 * queued.
 */
const fateOf = (dice: number): 'delivered' | 'bounced' | 'failed' | 'queued' =>
  dice < 0.965 ? 'delivered' : dice < 0.98 ? 'bounced' : dice < 0.99 ? 'failed' : 'queued';

export type LifeOptions = Readonly<{
  n: number;
  atMs: number;
  random: () => number;
  /** Whether every email is delivered, so that each has the same four events. */
  allDelivered: boolean;
  variables?: EmailVariables;
}>;
type EmailVariables = Extract<EmailEvent, { type: 'EmailQueued' }>['sealed'] extends infer Sealed
  ? NonNullable<Sealed> extends { variables: infer V }
    ? V
    : never
  : never;

/** Variables as an order has them; kept few, for they are large. */
export const orderVariables: readonly EmailVariables[] = Array.from(
  { length: 16 },
  (_, n) => orderRequest(n).variables,
);

/** In: which email, when, and the dice. Out: its stream and events, in order. */
export const lifeOf = ({ n, atMs, random, allDelivered, variables = {} }: LifeOptions): Life => {
  const pick = (count: number): number => Math.floor(random() * count);
  const hex = n.toString(16).padStart(12, '0');
  const id = assertDefined(parseEmailId(`018f${hex.slice(0, 4)}-${hex.slice(4, 8)}-7000-8000-${hex}`), 'email id');
  const kind = pick(templates.length);
  const template = templates[kind]!;
  const [firstName, lastName] = [firstNames[pick(firstNames.length)]!, lastNames[pick(lastNames.length)]!];
  const address = `${firstName}.${lastName}${pick(100_000)}@${domains[pick(domains.length)]!}`
    .normalize('NFKD')
    .replace(/[^\x21-\x7e]/g, '')
    .toLowerCase();
  const teamId = random() < 0.1 ? teamB : teamA;
  const at = (plusMs: number): string => isoTime(atMs + plusMs);
  const fate = allDelivered ? 'delivered' : fateOf(random());
  const queued: EmailEvent = {
    type: 'EmailQueued',
    data: {
      messageId: `<${id}@northwind.example>`,
      templateId: template.id,
      templateName: template.name,
      templateRevision: 3,
      templateVersion: 2,
      priority: 'normal',
      tags: ['bench'],
      roles: ['to'],
      attachmentCount: 0,
      company,
      at: at(0),
    },
    sealed: {
      from: { email: 'hello@northwind.example', name: 'Northwind Coffee' },
      recipients: [{ email: address, name: `${firstName} ${lastName}` }],
      subject: subjects[kind]!.replace('{n}', `NW-${n}`),
      variables,
      headers: {},
      metadata: {},
      attachments: [],
    },
  };
  const cause: Cause = { teamId, actor: 'bench', correlationId: `bench-${n}`, causationId: `bench-${n}`, at: at(0) };
  return { stream: emailStream(id), cause, events: fate === 'queued' ? [queued] : [queued, ...delivery(fate, at)] };
};

const delivery = (fate: 'delivered' | 'bounced' | 'failed', at: (plusMs: number) => string): readonly EmailEvent[] => {
  const host = 'relay.northwind.example:587';
  const result = fate === 'delivered' ? 'accepted' : fate === 'bounced' ? 'bounced' : 'refused';
  const data = {
    attempt: 1,
    at: at(180),
    host,
    durationMs: 42,
    outcomes: [
      {
        recipient: 0,
        result,
        replyCode: fate === 'delivered' ? 250 : 550,
        enhancedCode: fate === 'delivered' ? '2.0.0' : '5.1.1',
        rule: result,
      } as const,
    ],
  };
  const attempted: EmailEvent = {
    type: 'DeliveryAttempted',
    data: { attempt: 1, at: at(130), host, worker: '018f0000-0000-7000-8000-0000000000ff', deadlineAt: at(600_000) },
  };
  if (fate === 'bounced')
    return [
      attempted,
      { type: 'EmailBounced', data: { ...data, bounceType: 'hard' }, sealed: { replies: ['550 5.1.1 no such user'] } },
    ];
  if (fate === 'failed')
    return [
      attempted,
      { type: 'EmailFailed', data: { ...data, reason: 'refused' }, sealed: { replies: ['554 5.7.1 refused'] } },
    ];
  return [
    attempted,
    { type: 'EmailSent', data, sealed: { replies: ['250 2.0.0 Ok: queued as 4F1D2A'] } },
    { type: 'EmailDelivered', data: { at: at(180), recipients: [0] } },
  ];
};
