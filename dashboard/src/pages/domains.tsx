/** Sender domains: their records with what was found of each, checks, new keys, the domain of links. */
import type {
  AddDomainData,
  AddDomainResponse,
  DeleteDomainData,
  DeleteDomainResponse,
  GetDomainData,
  GetDomainResponse,
  ListDomainsData,
  ListDomainsResponse,
  RemoveTrackingDomainData,
  RemoveTrackingDomainResponse,
  RestoreDomainData,
  RestoreDomainResponse,
  RotateDomainKeysData,
  RotateDomainKeysResponse,
  SetTrackingDomainData,
  SetTrackingDomainResponse,
  VerifyDomainData,
  VerifyDomainResponse,
} from '#api';
import { operation } from '../api/client';
import { resourcePages, Rows, Section } from '../resources/pages';
import { bodyOf, type Field, type RowsOf } from '../resources/resource';
import { Copied, deletedFilter, Maybe } from '../resources/values';
import { StatusBadge } from '../ui/status';
import { Moment } from '../ui/time';

const list = operation<ListDomainsData, ListDomainsResponse>('GET', '/api/domains');
const add = operation<AddDomainData, AddDomainResponse>('POST', '/api/domains');
const get = operation<GetDomainData, GetDomainResponse>('GET', '/api/domains/{id}');
const remove = operation<DeleteDomainData, DeleteDomainResponse>('DELETE', '/api/domains/{id}');
const restore = operation<RestoreDomainData, RestoreDomainResponse>('POST', '/api/domains/{id}/restore');
const verify = operation<VerifyDomainData, VerifyDomainResponse>('POST', '/api/domains/{id}/verify');
const rotate = operation<RotateDomainKeysData, RotateDomainKeysResponse>('POST', '/api/domains/{id}/rotate');
const setTracking = operation<SetTrackingDomainData, SetTrackingDomainResponse>(
  'PUT',
  '/api/domains/{id}/tracking-domain',
);
const removeTracking = operation<RemoveTrackingDomainData, RemoveTrackingDomainResponse>(
  'DELETE',
  '/api/domains/{id}/tracking-domain',
);

type Domain = GetDomainResponse;
type DnsRecord = Domain['records'][number];

const fields: readonly Field[] = [
  { name: 'domain', label: 'Domain', isRequired: true, placeholder: 'shop.example', hint: 'The part behind the @' },
];

const isThere = ({ deletedAt }: Domain): boolean => deletedAt === undefined;

const uses = { signing: 'signs', next: 'signs once it is seen', retiring: 'signed until the rotation' } as const;

/** DNS records as rows, with their whole value to copy. */
const records: RowsOf<DnsRecord> = {
  many: 'DNS records',
  idOf: ({ type, name, value }) => `${type} ${name} ${value}`,
  titleOf: ({ type, name }) => `${type} ${name}`,
  columns: [
    {
      name: 'For',
      cell: ({ purpose, required, key }) => (
        <>
          {purpose.toUpperCase()}
          {key === null ? null : ` · ${key.algorithm}, ${uses[key.use]}`}
          {required ? null : ' · advised'}
        </>
      ),
    },
    { name: 'Type', cell: ({ type }) => type },
    { name: 'Name', cell: ({ name }) => <Copied value={name} of={`the name ${name}`} /> },
    { name: 'Value', cell: ({ name, value }) => <Copied value={value} of={`the value of ${name}`} isCut /> },
    { name: 'Found', cell: ({ found }) => <StatusBadge status={found} /> },
  ],
};

const More = ({ row }: Readonly<{ row: Domain }>) => (
  <Section
    title="DNS records"
    about="Put these records into the DNS of the domain, where it is kept. The service looks for them by itself; a new record may need an hour to be seen."
  >
    <Rows resource={records} rows={row.records} />
  </Section>
);

export default resourcePages<Domain>({
  path: '/domains',
  one: 'sender domain',
  many: 'Sender domains',
  needs: 'domains:manage',
  about:
    'Mails of a verified domain are signed with its keys, so that mailboxes trust them. Add the domain that stands in your sender addresses.',
  idOf: ({ id }) => id,
  titleOf: ({ domain }) => domain,
  list: ({ deleted }, { teamId }, signal) =>
    list({ query: deleted === undefined ? {} : { deleted: true } }, { teamId, signal }),
  get: (id, { teamId }, signal) => get({ path: { id } }, { teamId, signal }),
  hasPage: isThere,
  filters: [deletedFilter],
  refreshMs: (rows) => (rows.some(({ status }) => status === 'pending') ? 15_000 : undefined),
  columns: [
    { name: 'Domain', cell: ({ domain }) => domain },
    {
      name: 'Status',
      cell: ({ status, deletedAt }) => <StatusBadge status={deletedAt === undefined ? status : 'deleted'} />,
    },
    {
      name: 'Records found',
      cell: ({ records }) => {
        const needed = records.filter(({ required }) => required);
        return `${needed.filter(({ found }) => found === 'right').length} of ${needed.length}`;
      },
    },
    { name: 'Checked', cell: ({ checkedAt }) => <Maybe at={checkedAt} otherwise="never" /> },
  ],
  badge: ({ status }) => <StatusBadge status={status} />,
  facts: (domain) => [
    ['Verified', <Maybe key="verified" at={domain.verifiedAt} otherwise="not yet" />],
    ['Checked', <Maybe key="checked" at={domain.checkedAt} otherwise="never" />],
    ['Next check', <Moment key="next" at={domain.nextCheckAt} />],
    ['Domain of links', domain.trackingDomain ?? 'the address of this service'],
    domain.keysRetireAt === null ? undefined : ['Old keys go', <Moment key="retire" at={domain.keysRetireAt} />],
  ],
  More,
  create: {
    label: 'Add a domain',
    fields: () => fields,
    run: async (values, { teamId }) => {
      const { id, domain } = await add({ body: bodyOf(fields, values) }, { teamId });
      return { say: `${domain} is added. Put its records into the DNS.`, open: `/domains/${id}` };
    },
  },
  acts: [
    {
      label: 'Check now',
      look: 'main',
      isFor: isThere,
      run: async ({ id }, _values, { teamId }) => {
        const { domain, status, records } = await verify({ path: { id } }, { teamId });
        const left = records.filter(({ required, found }) => required && found !== 'right').length;
        return {
          say: status === 'verified' ? `${domain} is verified.` : `${left} records of ${domain} are not right yet.`,
        };
      },
    },
    {
      label: 'Domain of links',
      isFor: isThere,
      ask: ({ domain }) => ({
        title: 'Set the domain of links',
        text: (
          <p>Tracked and unsubscribe links of mails of {domain} lead to that name, once its CNAME record is seen.</p>
        ),
      }),
      fields: ({ trackingDomain, domain }) => [
        {
          name: 'trackingDomain',
          label: 'Name',
          isRequired: true,
          placeholder: `links.${domain}`,
          initial: trackingDomain ?? '',
        },
      ],
      run: async ({ id }, { trackingDomain }, { teamId }) => {
        await setTracking({ path: { id }, body: { trackingDomain: String(trackingDomain).trim() } }, { teamId });
        return { say: 'The domain of links is set. Put its record into the DNS.' };
      },
    },
    {
      label: 'Remove the domain of links',
      isFor: (domain) => isThere(domain) && domain.trackingDomain !== null,
      ask: ({ trackingDomain }) => ({
        title: `Remove ${trackingDomain}?`,
        text: <p>Links of new mails lead to the address of this service. Keep the record for links already sent.</p>,
      }),
      run: async ({ id }, _values, { teamId }) => {
        await removeTracking({ path: { id } }, { teamId });
        return { say: 'The domain of links is removed.' };
      },
    },
    {
      label: 'Rotate the keys',
      isFor: isThere,
      ask: ({ domain }) => ({
        title: `Make new keys for ${domain}?`,
        text: (
          <p>
            The new keys sign once their DNS records are seen. Keep the old records for seven more days; the page says
            when they can go.
          </p>
        ),
      }),
      run: async ({ id, domain }, _values, { teamId }) => {
        await rotate({ path: { id } }, { teamId });
        return { say: `New keys of ${domain} are made. Put their records into the DNS.` };
      },
    },
    {
      label: 'Restore',
      isFor: (domain) => !isThere(domain),
      run: async ({ id, domain }, _values, { teamId }) => {
        await restore({ path: { id } }, { teamId });
        return { say: `${domain} is restored. Its mails are signed once its records are seen.` };
      },
    },
    {
      label: 'Delete',
      look: 'danger',
      isFor: isThere,
      ask: ({ domain }) => ({
        title: `Delete ${domain}?`,
        text: (
          <p>
            Mails from <code>@{domain}</code>, also those that wait, leave without its signature. For 30 days it can be
            restored; then its keys are destroyed.
          </p>
        ),
      }),
      run: async ({ id, domain }, _values, { teamId }) => {
        await remove({ path: { id } }, { teamId });
        return { say: `${domain} is deleted.`, isGone: true };
      },
    },
    {
      label: 'Delete for good',
      look: 'danger',
      isFor: (domain) => !isThere(domain),
      ask: ({ domain }) => ({ title: `Delete ${domain} for good?`, text: <p>Its keys are destroyed at once.</p> }),
      run: async ({ id, domain }, _values, { teamId }) => {
        await remove({ path: { id }, query: { permanently: true } }, { teamId });
        return { say: `The keys of ${domain} are destroyed.` };
      },
    },
  ],
});
