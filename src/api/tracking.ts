/** Whether opens and clicks are recorded, as a call, a template and a team say it. */
import { Type, type Static } from '@sinclair/typebox';
import { nullable } from '../domain/core/schema.js';
import { closed, enumOf, Time } from './core/common.js';

export const TrackingSchema = Type.Object(
  {
    opens: Type.Boolean({ description: 'A picture at the end of the HTML tells when the mail is opened' }),
    clicks: Type.Boolean({ description: 'Links of the HTML lead through this service' }),
  },
  closed,
);
export type TrackingSettings = Static<typeof TrackingSchema>;

/** Of a call. */
export const trackingField = Type.Object(TrackingSchema.properties, {
  ...closed,
  description: 'What is recorded of readers; by default as the template says, else as the team does',
});

export const openedAt = nullable(
  Type.String({ format: 'date-time', description: 'When a person first opened it, as far as that is recorded' }),
);
export const clickedAt = nullable(
  Type.String({ format: 'date-time', description: 'When a person first followed a link of it, as far as that is recorded' }),
);

const EngagementSchema = Type.Object(
  {
    type: enumOf(['opened', 'clicked'] as const),
    at: Time,
    recipient: Type.Integer({ description: 'Its place in `recipients`' }),
    times: Type.Integer({ description: 'How often since the one before for the same thing' }),
    machine: Type.Boolean({ description: 'True where a proxy or a scanner did it, no person' }),
    rule: nullable(Type.String({ description: 'Why it is taken for a machine' })),
    url: nullable(Type.String({ description: 'Of a click; null once archived' })),
    userAgent: nullable(Type.String({ description: 'null once archived' })),
    ipAddress: nullable(Type.String({ description: 'null once archived' })),
  },
  closed,
);

/** Of the log record of an email. */
export const TrackingRecordSchema = Type.Object(
  {
    opens: Type.Boolean(),
    clicks: Type.Boolean(),
    events: Type.Array(EngagementSchema, { description: 'The oldest first; what is repeated very often is not recorded each time' }),
  },
  { ...closed, description: 'What is recorded of its readers' },
);
