/**
 * Requests and answers about recipients: the tracking setting, reports of bounces and complaints, suppressed addresses.
 */
import { Type, type Static } from '@sinclair/typebox';
import { nullable } from '../domain/core/schema.js';
import { closed, enumOf, Time } from './core/common.js';
import { bounceTypes, emailStatuses } from '../domain/email/status.js';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { suppressionReasons } from '../domain/recipients/suppression.js';
import { PagingQuerySchema } from './core/queries.js';

export const TrackingSchema = Type.Object(
  {
    opens: Type.Boolean({ description: 'A picture at the end of the HTML tells when the mail is opened' }),
    clicks: Type.Boolean({ description: 'Links of the HTML lead through this service' }),
  },
  closed,
);
export type TrackingSettings = Static<typeof TrackingSchema>;

/** The `tracking` field of a send request. */
export const trackingField = Type.Object(TrackingSchema.properties, {
  ...closed,
  description: 'Whether opens and clicks are recorded. Default: the setting of the template, else that of the team',
});

export const openedAt = nullable(
  Type.String({ format: 'date-time', description: 'When a person first opened it, as far as that is recorded' }),
);
export const clickedAt = nullable(
  Type.String({
    format: 'date-time',
    description: 'When a person first followed a link of it, as far as that is recorded',
  }),
);

const EngagementSchema = Type.Object(
  {
    type: enumOf(['opened', 'clicked'] as const),
    at: Time,
    recipient: Type.Integer({ description: 'Its place in `recipients`' }),
    times: Type.Integer({ description: 'How often since the one before for the same thing' }),
    machine: Type.Boolean({ description: 'True where a proxy or a scanner did it, no person' }),
    rule: nullable(Type.String({ description: 'Why it is taken for a machine' })),
    url: nullable(Type.String({ description: 'Address of the clicked link; null for opens and once archived' })),
    userAgent: nullable(Type.String({ description: 'null once archived' })),
    ipAddress: nullable(Type.String({ description: 'null once archived' })),
  },
  closed,
);

/** The tracking part of an email's log record. */
export const TrackingRecordSchema = Type.Object(
  {
    opens: Type.Boolean(),
    clicks: Type.Boolean(),
    events: Type.Array(EngagementSchema, {
      description: 'The oldest first; what is repeated very often is not recorded each time',
    }),
  },
  { ...closed, description: 'Whether opens and clicks are recorded' },
);

const feedbackKinds = ['delivery-status', 'complaint', 'other'] as const;

/**
 * `recorded`: the report changed the email. `unchanged`: its content is known already, or not final. `gone`: the email
 * is archived or deleted, so nothing is recorded.
 */
const feedbackOutcomes = ['recorded', 'unchanged', 'gone'] as const;

export const FeedbackQuerySchema = Type.Object(
  {
    recipient: Type.Optional(
      Type.String({
        maxLength: 320,
        description:
          'The envelope recipient of the report, where the host knows it; otherwise it is looked for in the report',
      }),
    ),
  },
  closed,
);
export const FeedbackResponseSchema = Type.Object(
  {
    emailId: Type.String({ format: 'uuid' }),
    kind: enumOf(feedbackKinds),
    outcome: enumOf(feedbackOutcomes),
    status: enumOf(emailStatuses),
    recipients: Type.Array(
      Type.Object(
        {
          action: enumOf(['failed', 'delivered', 'delayed', 'relayed', 'expanded', 'complained'] as const),
          bounceType: nullable(enumOf(bounceTypes)),
          bounceSubType: nullable(Type.String()),
        },
        closed,
      ),
      { description: 'Results of the report, one for each recipient that it names' },
    ),
  },
  closed,
);
export type FeedbackResponse = Static<typeof FeedbackResponseSchema>;

/**
 * The result of an event of a provider. `kept`: it is not understood. `ignored`: it is of a kind that changes nothing.
 * `foreign`: it names no email of this service.
 */
export const providerEventOutcomes = ['recorded', 'unchanged', 'ignored', 'kept', 'gone', 'foreign'] as const;
export type ProviderEventOutcome = (typeof providerEventOutcomes)[number];

const eventCount = (description: string) => Type.Integer({ minimum: 0, description });

export const ProviderEventsResponseSchema = Type.Object(
  {
    events: eventCount('Events of the call'),
    recorded: eventCount('Changed an email, or a suppression list'),
    unchanged: eventCount('Say nothing new, or nothing final'),
    ignored: eventCount('Are of a kind that changes nothing, such as opens and clicks'),
    kept: eventCount('Were not understood, and are kept with the email'),
    gone: eventCount('Are about an email or a recipient whose data is destroyed'),
    foreign: eventCount('Name no email of this service'),
  },
  closed,
);
export type ProviderEventsResponse = Static<typeof ProviderEventsResponseSchema>;

const address = (description: string) => Type.String({ minLength: 3, maxLength: 512, description });
const Reason = enumOf(suppressionReasons);

/** The pattern of list names, which templates give. */
const LIST = '^[a-z0-9]+(?:-[a-z0-9]+)*$';
const LIST_CHARS_MAX = limits.templateSlugCharsMax;
const list = (description: string) => Type.String({ pattern: LIST, maxLength: LIST_CHARS_MAX, description });
const listPattern = new RegExp(LIST);

export const isListName = (text: string): boolean => text.length <= LIST_CHARS_MAX && listPattern.test(text);

export const SuppressionRecordSchema = Type.Object(
  {
    id: Type.String(),
    email: nullable(Type.String({ description: 'null where the address is erased' })),
    list: nullable(Type.String({ description: 'Mails of this list alone are kept from it; null: all' })),
    reason: Reason,
    emailId: nullable(
      Type.String({ description: 'The email that was refused or complained about, or whose link was followed' }),
    ),
    createdAt: Time,
  },
  closed,
);
export type SuppressionRecord = Static<typeof SuppressionRecordSchema>;

export const AddSuppressionRequestSchema = Type.Object(
  {
    email: address('Letter case does not count'),
    list: Type.Optional(list('Keeps mails of this unsubscribe list alone from it')),
  },
  closed,
);
export type AddSuppressionRequest = Static<typeof AddSuppressionRequestSchema>;

export const SuppressionListQuerySchema = Type.Composite(
  [
    PagingQuerySchema,
    Type.Object({ reason: Type.Optional(Reason), list: Type.Optional(list('Those of this list alone')) }),
  ],
  closed,
);

export const SuppressionCheckQuerySchema = Type.Object(
  { email: address('The address, whole'), list: Type.Optional(list('Whether mails of this list are sent to it')) },
  closed,
);
export const SuppressionCheckSchema = Type.Object(
  { email: Type.String(), suppressed: Type.Boolean(), suppression: nullable(SuppressionRecordSchema) },
  closed,
);
export type SuppressionCheck = Static<typeof SuppressionCheckSchema>;

const Count = Type.Integer({ minimum: 0 });

export const SuppressionsImportedSchema = Type.Object(
  {
    rows: Count,
    added: Count,
    existing: Type.Integer({
      minimum: 0,
      description: 'Suppressed before, or earlier in the file; they stay as they are',
    }),
    invalid: Type.Integer({ minimum: 0, description: 'Rows without a valid address or list; they are passed over' }),
    errors: Type.Array(Type.Object({ line: Type.Integer(), message: Type.String() }, closed), {
      description: 'Faults of the first hundred invalid rows',
    }),
  },
  closed,
);
export type SuppressionsImported = Static<typeof SuppressionsImportedSchema>;
