/** The declared indexes decide which index answers a condition, not the frequency of its values. */
import t from 'tap';
import { indexFor } from '../../../src/adapters/read-models/finder.js';
import { emailsProjection } from '../../../src/projections/bulk/emails.js';
import { withRecipientStatus } from '../../../src/projections/email/read-models.js';
import { assertDefined } from '../../../src/domain/core/ids.js';
import { emailsSpec } from '../../contracts/read-models-fixtures.js';

void t.test('the index with the most fixed fields before the order is taken', async (t) => {
  const [team, status, cost] = [{ teamId: { eq: 'a' } }, { status: { eq: 'b' } }, { cost: { eq: 1 } }];
  const createdAt = { createdAt: { gte: 'c' } };
  t.equal(indexFor(emailsSpec, team, 'createdAt'), 'c_emails_0');
  t.equal(indexFor(emailsSpec, { ...team, ...createdAt }, 'createdAt'), 'c_emails_0');
  t.equal(indexFor(emailsSpec, { ...team, ...status, ...createdAt }, 'createdAt'), 'c_emails_1');
  t.equal(indexFor(emailsSpec, { ...team, ...cost }, 'createdAt'), 'c_emails_2');
  t.equal(indexFor(emailsSpec, { ...team, ...status, ...cost }, 'createdAt'), 'c_emails_3');
  t.equal(
    indexFor(emailsSpec, { ...team, status: { in: ['b'] } }, 'createdAt'),
    'c_emails_0',
    'a list of values is tested',
  );
  t.equal(indexFor(emailsSpec, status, 'createdAt'), undefined);
  t.equal(indexFor(emailsSpec, team, 'cost'), 'c_emails_2');
});

void t.test(
  'a filter by the status of a recipient looks at emails of that status and at mixed ones only',
  async (t) => {
    const spec = assertDefined(
      emailsProjection({ retentionMs: 1, archiveMs: 1 }).collections.find(({ name }) => name === 'emails'),
      'collection',
    );
    const indexes = (...given: Parameters<typeof withRecipientStatus>) =>
      withRecipientStatus(...given).map((one) => {
        const index = indexFor(spec, { team: { eq: 'a' }, ...one }, 'createdAt');
        return spec.indexes[Number(index?.split('_').at(-1))]?.join();
      });
    const [byStatus, byBoth, mixed] = [
      'team,status,createdAt',
      'team,status,templateId,createdAt',
      'team,mixed,createdAt',
    ];
    t.same(indexes('bounced', {}), [byStatus, mixed]);
    t.same(indexes('queued', {}), [byStatus, byStatus, byStatus, mixed]);
    t.same(indexes('queued', { statuses: ['scheduled'] }), [byStatus, mixed]);
    t.same(indexes('failed', { statuses: ['sent'] }), [mixed]);
    t.same(indexes('queued', { statuses: ['scheduled', 'sent', 'processing'] }), [byStatus, byStatus, mixed]);
    t.same(indexes('failed', { templateId: 'b' }), [byBoth, mixed]);
  },
);
