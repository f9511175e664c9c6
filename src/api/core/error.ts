/** The error body as a schema, for the API description and for tests. */
import { Type } from '@sinclair/typebox';

export const ErrorBodySchema = Type.Object(
  {
    statusCode: Type.Integer({ description: 'The HTTP status' }),
    code: Type.String({ description: 'What was wrong, for programs' }),
    message: Type.String({ description: 'What was wrong and what would be right, for people' }),
    timestamp: Type.String({ format: 'date-time' }),
    path: Type.String({ description: 'The path that was asked for, without its query' }),
    requestId: Type.String({ description: 'The same as the X-Request-Id header' }),
    errors: Type.Optional(
      Type.Array(
        Type.Object(
          { field: Type.String({ description: 'A path such as `to[2].email`; empty for the body itself' }), message: Type.String() },
          { additionalProperties: false },
        ),
      ),
    ),
    relatedInfo: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]))),
    retryAfter: Type.Optional(Type.Integer({ description: 'Seconds to wait, on 429 and 503' })),
  },
  { additionalProperties: false },
);
