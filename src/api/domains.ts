/** Requests and answers about sender domains, with their DNS records and what the last look-up found. */
import { Type, type Static } from '@sinclair/typebox';
import { nullable } from '../domain/core/schema.js';
import { closed, DeletedAt, enumOf, Time } from './core/common.js';

export const AddDomainRequestSchema = Type.Object(
  {
    domain: Type.String({
      minLength: 1,
      maxLength: 253,
      description: 'Domain name of the addresses from which mail is sent, such as `example.com`',
    }),
  },
  closed,
);
export type AddDomainRequest = Static<typeof AddDomainRequestSchema>;

export const SetTrackingDomainRequestSchema = Type.Object(
  {
    trackingDomain: Type.String({
      minLength: 1,
      maxLength: 253,
      description: 'A name below the sender domain, such as `links.example.com`',
    }),
  },
  closed,
);
export type SetTrackingDomainRequest = Static<typeof SetTrackingDomainRequestSchema>;

const KeySchema = Type.Object(
  {
    selector: Type.String(),
    algorithm: enumOf(['rsa', 'ed25519']),
    use: enumOf(
      ['signing', 'next', 'retiring'],
      '`signing`: mails are signed with it while the domain is verified; `next`: it signs once its record is seen; `retiring`: it signed before',
    ),
  },
  closed,
);

const RecordSchema = Type.Object(
  {
    purpose: enumOf(['dkim', 'spf', 'dmarc', 'return-path', 'tracking']),
    type: enumOf(['TXT', 'MX', 'CNAME']),
    name: Type.String({ description: 'Full name of the record' }),
    value: Type.String({ description: 'Content of the record' }),
    required: Type.Boolean({ description: 'False: advice; the domain is verified without it' }),
    found: enumOf(
      ['right', 'missing', 'wrong', 'unknown'],
      'Result of the last look-up that was answered; `unknown` before the first',
    ),
    key: nullable(KeySchema),
  },
  closed,
);

export const DomainRecordSchema = Type.Object(
  {
    id: Type.String(),
    domain: Type.String(),
    status: enumOf(
      ['pending', 'verified', 'unverified'],
      '`unverified`: it was verified, and its records were missing or wrong on several days',
    ),
    createdAt: Time,
    verifiedAt: nullable(Time),
    checkedAt: nullable(Time),
    nextCheckAt: Time,
    deletedAt: DeletedAt,
    keysRetireAt: nullable(
      Type.String({ format: 'date-time', description: 'Until when the records of the keys before are needed' }),
    ),
    trackingDomain: nullable(
      Type.String({
        description:
          'Links in mails of the domain lead to this name while the domain is verified and its record is right; null: to the public URL',
      }),
    ),
    records: Type.Array(RecordSchema),
  },
  closed,
);
export type DomainRecord = Static<typeof DomainRecordSchema>;

export const DomainListSchema = Type.Object({ data: Type.Array(DomainRecordSchema) }, closed);

export const DomainListQuerySchema = Type.Object(
  {
    deleted: Type.Optional(
      Type.Boolean({ description: 'Lists instead the deleted domains that can still be restored, the last one first' }),
    ),
  },
  closed,
);
export type DomainListQuery = Static<typeof DomainListQuerySchema>;
