/** Requests and answers of the audit log. */
import { Type, type Static } from '@sinclair/typebox';
import { auditActors, auditResults } from '../domain/audit/entry.js';
import { auditCategories } from '../domain/core/event.js';
import { nullable } from '../domain/core/schema.js';
import { closed, enumOf, Time } from './core/common.js';
import { moment, paging } from './core/queries.js';

const id = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 200, description }));

const period = { from: moment('At or after'), to: moment('At or before') };

export const AuditQuerySchema = Type.Object(
  {
    ...paging,
    category: Type.Optional(enumOf(auditCategories)),
    action: id('As `api_key.created`'),
    actorType: Type.Optional(enumOf(auditActors)),
    actor: id('Id of the user, API key or grant that did it'),
    targetType: id('As `email`, `api_key`, `user`'),
    target: id('Id of what it was done to'),
    result: Type.Optional(enumOf(auditResults)),
    ...period,
  },
  closed,
);
export type AuditQuery = Static<typeof AuditQuerySchema>;

export const AuditEntrySchema = Type.Object(
  {
    id: Type.String({ description: 'That of the event which the log has' }),
    at: Time,
    scope: enumOf(['team', 'person'], '`person`: what a member did to their own account'),
    category: enumOf(auditCategories),
    action: Type.String({ description: 'As `api_key.created`' }),
    actor: Type.Object(
      {
        type: enumOf(auditActors),
        id: nullable(Type.String({ description: 'Id of the user, the API key, or the grant of the app' })),
      },
      closed,
    ),
    target: nullable(Type.Object({ type: Type.String(), id: Type.String() }, closed)),
    result: enumOf(auditResults),
    code: nullable(Type.String({ description: 'With which code it was denied' })),
    count: Type.Integer({ description: 'How often within one minute; above 1 only of what is counted' }),
    detail: nullable(Type.String({ description: 'The role, the reason, the permissions, the endpoint' })),
    network: nullable(
      Type.String({ description: 'The address from which it was called; null where it is not kept, or forgotten' }),
    ),
    agent: nullable(Type.String({ description: 'User agent of the caller' })),
    requestId: Type.String(),
  },
  closed,
);
export type AuditEntryRecord = Static<typeof AuditEntrySchema>;

export const callActors = ['api_key', 'app'] as const;
export const callMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export const RequestLogQuerySchema = Type.Object(
  {
    ...paging,
    actor: id('Id of the API key, or client id of the app'),
    method: Type.Optional(enumOf(callMethods)),
    status: Type.Optional(
      Type.String({
        pattern: '^[1-5](?:xx|[0-9][0-9])$',
        description: 'One status, or all of a kind: `4xx`',
        examples: ['4xx', '429'],
      }),
    ),
    code: id('Code of the error answer, as `VALIDATION_ERROR`'),
    requestId: id('Id of the request, as in the X-Request-Id header of the answer'),
    ...period,
  },
  closed,
);
export type RequestLogQuery = Static<typeof RequestLogQuerySchema>;

export const RequestLogEntrySchema = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ format: 'date-time', description: 'When it was answered' }),
    actor: Type.Object(
      {
        type: enumOf(callActors),
        id: Type.String({ description: 'Id of the API key, or client id of the app' }),
        name: nullable(Type.String({ description: 'Its present name; null where it is gone' })),
      },
      closed,
    ),
    method: Type.String(),
    route: Type.String({ description: 'The path with the names of its parameters, as `/api/emails/:id`' }),
    path: Type.String({
      description:
        'The path with the ids that the service made; anything else, such as an address, keeps the name of its parameter',
    }),
    status: Type.Integer(),
    code: nullable(Type.String({ description: 'The code of an error answer' })),
    requestId: Type.String(),
    durationMs: Type.Number({ description: 'From the request to the end of the answer' }),
  },
  closed,
);
export type RequestLogEntryRecord = Static<typeof RequestLogEntrySchema>;

export const auditFormats = ['jsonl', 'csv'] as const;
export type AuditFormat = (typeof auditFormats)[number];

export const AuditExportQuerySchema = Type.Object(
  { format: Type.Optional(enumOf(auditFormats, 'Default: jsonl')), ...period },
  closed,
);
