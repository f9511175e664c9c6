/** The team itself: its sender and company, tracking, personal data of an address, changes, and its end. */
import { useQuery } from '@tanstack/react-query';
import type {
  DeleteTeamData,
  DeleteTeamResponse,
  EraseAddressData,
  EraseAddressResponse,
  ExportAddressData,
  GetErasureData,
  GetErasureResponse,
  GetRetentionData,
  GetRetentionResponse,
  GetTeamData,
  GetTeamResponse,
  GetTrackingData,
  GetTrackingResponse,
  LeaveTeamData,
  LeaveTeamResponse,
  ListTeamActivityData,
  ListTeamActivityResponse,
  SetTrackingData,
  SetTrackingResponse,
  UpdateTeamData,
  UpdateTeamResponse,
} from '#api';
import { ApiFault, download, type FieldFault, operation } from '../api/client';
import { queryClient } from '../api/queries';
import { ActButtons } from '../resources/dialogs';
import { Facts, NotAllowed, NothingHere, PageHead, ResourceList, Rows, Section, useAgain } from '../resources/pages';
import { usePlace } from '../resources/place';
import {
  type Act,
  bodyOf,
  changedOf,
  changeOf,
  type Field,
  initialOf,
  may,
  type Resource,
  type RowsOf,
  type Scope,
  type Values,
} from '../resources/resource';
import { queryOf } from '../resources/values';
import { Fault, Loading } from '../ui/states';
import { Moment } from '../ui/time';

const get = operation<GetTeamData, GetTeamResponse>('GET', '/api/teams/{teamId}');
const update = operation<UpdateTeamData, UpdateTeamResponse>('PATCH', '/api/teams/{teamId}');
const remove = operation<DeleteTeamData, DeleteTeamResponse>('DELETE', '/api/teams/{teamId}');
const leave = operation<LeaveTeamData, LeaveTeamResponse>('POST', '/api/teams/{teamId}/leave');
const listActivity = operation<ListTeamActivityData, ListTeamActivityResponse>('GET', '/api/teams/{teamId}/activity');
const getTracking = operation<GetTrackingData, GetTrackingResponse>('GET', '/api/tracking');
const setTracking = operation<SetTrackingData, SetTrackingResponse>('PUT', '/api/tracking');
const getRetention = operation<GetRetentionData, GetRetentionResponse>('GET', '/api/retention');
const erase = operation<EraseAddressData, EraseAddressResponse>('POST', '/api/privacy/erase');
const getErasure = operation<GetErasureData, GetErasureResponse>('GET', '/api/privacy/erasures/{id}');

type Team = GetTeamResponse;
type Activity = ListTeamActivityResponse['data'][number];
type Tracking = GetTrackingResponse;
type Kept = GetRetentionResponse['data'][number];

const company: readonly (readonly [name: keyof Team['company'], label: string])[] = [
  ['name', 'Company'],
  ['legalName', 'Legal name'],
  ['email', 'Address for readers'],
  ['phone', 'Telephone'],
  ['website', 'Website'],
  ['addressLine1', 'Street'],
  ['postalCode', 'Postal code'],
  ['city', 'City'],
  ['state', 'State'],
  ['country', 'Country'],
];

const senderFields = (team: Team): readonly Field[] => [
  { name: 'name', label: 'Name of the team', isRequired: true, initial: team.name },
  {
    name: 'defaultFrom.email',
    label: 'Sender address',
    kind: 'email',
    isRequired: true,
    hint: 'Of emails that name none',
    initial: team.defaultFrom.email,
  },
  { name: 'defaultFrom.name', label: 'Sender name', empty: '', initial: team.defaultFrom.name ?? '' },
  {
    name: 'requiresSecondFactor',
    label: 'Members need a second factor',
    kind: 'switch',
    initial: team.requiresSecondFactor,
  },
];

const companyFields = (team: Team): readonly Field[] =>
  company.map(([name, label]) => ({ name: `company.${name}`, label, empty: '', initial: team.company[name] }));

type FieldsOf = (team: Team) => readonly Field[];

/** The change that gives the team those values. The default sender is taken whole: its address goes with its name. */
const changeTo = (team: Team, fieldsOf: FieldsOf, values: Values): UpdateTeamData['body'] | undefined => {
  const fields = fieldsOf(team);
  const body = changeOf<UpdateTeamData['body']>(fields, changedOf(initialOf(fields), values));
  if (Object.keys(body).length === 0) return undefined;
  const whole = bodyOf<UpdateTeamData['body']>(fields, values).defaultFrom;
  return body.defaultFrom === undefined || whole === undefined ? body : { ...body, defaultFrom: whole };
};

/** Teams as forms were opened with them, each with the one of which the reader was told that others had changed it. */
const told = new WeakMap<Team, Team>();

/**
 * Changes what the person changed in the form. If somebody else changed the team meanwhile, other fields keep their
 * values, and fields that both changed are told before the next attempt puts the own values in their place.
 */
const changeTeam =
  (fieldsOf: FieldsOf): Act<Team>['run'] =>
  async (opened, values, { teamId }) => {
    const own = changedOf(initialOf(fieldsOf(opened)), values);
    let base = told.get(opened) ?? opened;
    for (;;) {
      const body = changeTo(base, fieldsOf, { ...initialOf(fieldsOf(base)), ...own });
      if (body === undefined) return { say: 'Nothing was changed.' };
      try {
        await update({ path: { teamId }, body }, { teamId, ifMatch: base.revision });
        await queryClient.invalidateQueries({ queryKey: ['teams'] });
        return { say: 'The team is changed.' };
      } catch (fault) {
        if (!(fault instanceof ApiFault) || fault.code !== 'REVISION_MISMATCH') throw fault;
        const now = await get({ path: { teamId } }, { teamId });
        const errors = changedByBoth(fieldsOf(base), fieldsOf(now), own);
        base = now;
        told.set(opened, now);
        if (errors.length > 0) throw new ApiFault(fault.status, { code: fault.code, message: fault.message, errors });
      }
    }
  };

const changedByBoth = (before: readonly Field[], now: readonly Field[], own: Values): readonly FieldFault[] => {
  const theirs = changedOf(initialOf(before), initialOf(now));
  return now.flatMap(({ name: field }) => {
    const value = theirs[field];
    if (value === undefined || own[field] === undefined || own[field] === value) return [];
    const shown = value === true ? 'on' : value === false ? 'off' : value === '' ? 'empty' : `“${String(value)}”`;
    return [
      { field, message: `Somebody else has made this ${shown} meanwhile. Change again to put yours in its place.` },
    ];
  });
};

const teamActs: readonly Act<Team>[] = [
  {
    label: 'Change',
    needs: 'team:manage',
    ask: () => ({ title: 'Change the team', text: null }),
    fields: senderFields,
    run: changeTeam(senderFields),
  },
];

const companyActs: readonly Act<Team>[] = [
  {
    label: 'Change the company',
    needs: 'team:manage',
    ask: () => ({ title: 'Change the company', text: <p>Templates show it in their foot.</p> }),
    fields: companyFields,
    run: changeTeam(companyFields),
  },
];

const trackingFields = ({ opens, clicks }: Tracking): readonly Field[] => [
  { name: 'opens', label: 'Record when a mail is opened', kind: 'switch', initial: opens },
  { name: 'clicks', label: 'Record which links are followed', kind: 'switch', initial: clicks },
];

const trackingActs: readonly Act<Tracking>[] = [
  {
    label: 'Change the tracking',
    needs: 'tracking:manage',
    ask: () => ({
      title: 'What is recorded of readers?',
      text: <p>It holds for mails that are accepted from then on, unless the call or the template says otherwise.</p>,
    }),
    fields: trackingFields,
    run: async (_row, { opens, clicks }, { teamId }) => {
      await setTracking({ body: { opens: opens === true, clicks: clicks === true } }, { teamId });
      return { say: 'The tracking is changed.' };
    },
  },
];

const address: Field = { name: 'email', label: 'Address', kind: 'email', isRequired: true };

const erasedIn = ({ status, emails, waiting }: GetErasureResponse): string =>
  status === 'completed'
    ? `Everything about the address is destroyed: ${emails.toLocaleString()} emails.`
    : `The address is being erased; ${waiting?.emailIds.length ?? 0} emails and ${waiting?.bulkSends.length ?? 0} bulk sends have to end first.`;

const privacyActs: readonly Act<undefined>[] = [
  {
    label: 'Export an address',
    ask: () => ({
      title: 'Export what is held about an address',
      text: <p>JSON lines: the address, its emails, its suppression and its webhook deliveries.</p>,
    }),
    fields: () => [address],
    run: async (_row, { email }, { teamId }) => {
      const body = { email: String(email).trim() };
      await download<ExportAddressData>('POST', { url: '/api/privacy/export', body }, 'address.jsonl', { teamId });
      return { say: 'The file has everything that is held about the address.' };
    },
  },
  {
    label: 'How far is an erasure?',
    ask: () => ({ title: 'How far is an erasure?', text: null }),
    fields: () => [{ name: 'id', label: 'Id of the erasure', isRequired: true }],
    run: async (_row, { id }, { teamId }) => ({
      say: erasedIn(await getErasure({ path: { id: String(id).trim() } }, { teamId })),
    }),
  },
  {
    label: 'Erase an address',
    look: 'danger',
    ask: () => ({
      title: 'Erase an address?',
      text: (
        <p>
          Whatever is personal of every email to that address is destroyed for good, also in backups; emails that wait
          are cancelled. A suppressed address stays suppressed.
        </p>
      ),
    }),
    fields: () => [address],
    run: async (_row, { email }, { teamId }) => {
      const erasure = await erase({ body: { email: String(email).trim() } }, { teamId });
      return { say: `${erasedIn(erasure)} Erasure ${erasure.id}.` };
    },
  },
];

const endActs: readonly Act<Team>[] = [
  {
    label: 'Leave the team',
    ask: ({ name }) => ({
      title: `Leave ${name}?`,
      text: <p>You see nothing of it from then on. API keys that you made belong to the team and go on.</p>,
    }),
    run: async ({ name }, _values, { teamId }) => {
      await leave({ path: { teamId } }, { teamId });
      await queryClient.invalidateQueries({ queryKey: ['teams'] });
      return { say: `You have left ${name}.`, open: '/account' };
    },
  },
  {
    label: 'Delete the team',
    needs: 'team:delete',
    look: 'danger',
    ask: ({ name }) => ({
      title: `Delete ${name}?`,
      text: (
        <p>
          Its API keys are refused, and its emails that wait are cancelled. For 30 days it can be restored on the page
          of your account; then everything of it is destroyed.
        </p>
      ),
    }),
    fields: ({ name }) => [{ name: 'name', label: `Type the name: ${name}`, isRequired: true }],
    run: async ({ name }, values, { teamId }) => {
      if (values['name'] !== name) return { say: 'The name was another one, so nothing is deleted.' };
      await remove({ path: { teamId } }, { teamId });
      await queryClient.invalidateQueries({ queryKey: ['teams'] });
      return { say: `${name} is deleted.`, open: '/account' };
    },
  },
];

const activity: Resource<Activity> = {
  path: '/settings/activity',
  one: 'change',
  many: 'changes',
  needs: 'team:read',
  about: 'Changes of people, keys, templates and settings stand here, the newest first.',
  idOf: ({ id }) => id,
  titleOf: ({ kind }) => kind,
  list: (query, { teamId }, signal) => listActivity({ path: { teamId }, query: queryOf(query) }, { teamId, signal }),
  columns: [
    { name: 'What', cell: ({ kind }) => kind.replaceAll(/[_.-]/g, ' ') },
    { name: 'Of', cell: ({ target }) => <bdi>{`${target.type.replaceAll('-', ' ')} ${target.name ?? ''}`}</bdi> },
    { name: 'By', cell: ({ actor }) => <bdi>{actor.name ?? actor.type.replaceAll('-', ' ')}</bdi> },
    { name: 'At', cell: ({ at }) => <Moment at={at} /> },
  ],
};

const TrackingSection = ({ scope: { teamId } }: Readonly<{ scope: Scope }>) => {
  const again = useAgain();
  const tracking = useQuery({
    queryKey: ['/settings/tracking', teamId],
    queryFn: ({ signal }) => getTracking({}, { teamId, signal }),
  });
  return (
    <Section
      title="Tracking"
      buttons={
        tracking.data === undefined ? undefined : (
          <ActButtons acts={trackingActs} row={tracking.data} onDone={() => void again()} />
        )
      }
    >
      {tracking.data !== undefined ? (
        <Facts
          facts={[
            ['Opened mails', tracking.data.opens ? 'recorded' : 'not recorded'],
            ['Followed links', tracking.data.clicks ? 'recorded' : 'not recorded'],
          ]}
        />
      ) : tracking.error === null ? (
        <Loading label="Loading the tracking" />
      ) : (
        <Fault fault={tracking.error} retry={() => void tracking.refetch()} />
      )}
    </Section>
  );
};

const begun = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const keptRows: RowsOf<Kept> = {
  many: 'Retention',
  idOf: ({ name }) => name,
  titleOf: ({ what }) => what,
  columns: [
    { name: 'What', cell: ({ what }) => begun(what) },
    { name: 'Is kept', cell: ({ period }) => period },
    { name: 'Then', cell: ({ then }) => then },
  ],
};

const DELETED = 'deleted ';

/** Deleted things that are kept alike are one row. */
const foldedRows = (rows: readonly Kept[]): readonly Kept[] => {
  const folded: Kept[] = [];
  for (const row of rows) {
    const last = folded.at(-1);
    const isAlike =
      last?.what.startsWith(DELETED) === true &&
      row.what.startsWith(DELETED) &&
      (['period', 'then', 'setting'] as const).every((name) => last[name] === row[name]);
    if (isAlike) folded[folded.length - 1] = { ...last, what: `${last.what}, ${row.what.slice(DELETED.length)}` };
    else folded.push(row);
  }
  return folded;
};

const RetentionSection = ({ scope: { teamId } }: Readonly<{ scope: Scope }>) => {
  const table = useQuery({
    queryKey: ['/settings/retention', teamId],
    queryFn: ({ signal }) => getRetention({}, { teamId, signal }),
  });
  return (
    <Section title="Retention" about="How long what you send and do is kept. The operator of the instance sets it.">
      {table.data !== undefined ? (
        <Rows resource={keptRows} rows={foldedRows(table.data.data)} />
      ) : table.error === null ? (
        <Loading label="Loading the retention" />
      ) : (
        <Fault fault={table.error} retry={() => void table.refetch()} />
      )}
    </Section>
  );
};

const SettingsPage = ({ steps }: Readonly<{ steps: readonly string[] }>) => {
  const { scope } = usePlace();
  const again = useAgain();
  const { teamId } = scope;
  const isAllowed = may(scope, 'team:read');
  const one = useQuery({
    queryKey: ['/settings', teamId],
    enabled: isAllowed,
    queryFn: ({ signal }) => get({ path: { teamId } }, { teamId, signal }),
  });
  if (steps.length > 0) return <NothingHere title="Settings" />;
  if (!isAllowed) return <NotAllowed needs="team:read" title="Settings" />;
  const team = one.data;
  if (team === undefined)
    return (
      <>
        <PageHead title="Settings" />
        {one.error === null ? (
          <Loading label="Loading the team" />
        ) : (
          <Fault fault={one.error} retry={() => void one.refetch()} />
        )}
      </>
    );
  const done = (): void => void again();
  const { name = '', email } = team.defaultFrom;
  return (
    <>
      <PageHead title="Settings">
        <ActButtons acts={teamActs} row={team} onDone={done} />
      </PageHead>
      <Facts
        facts={[
          ['Team', <bdi key="team">{team.name}</bdi>],
          ['Default sender', <bdi key="sender">{name === '' ? email : `${name} <${email}>`}</bdi>],
          ['Second factor', team.requiresSecondFactor ? 'members need one' : 'members choose'],
          ['Your role', scope.team.role],
          ['Made', <Moment key="made" at={team.createdAt} />],
          ['Id', <code key="id">{team.id}</code>],
        ]}
      />
      <Section title="Company" buttons={<ActButtons acts={companyActs} row={team} onDone={done} />}>
        <Facts
          facts={company.map(([key, label]) => [label, team.company[key] === '' ? '–' : team.company[key]] as const)}
        />
      </Section>
      {may(scope, 'tracking:manage') ? <TrackingSection scope={scope} /> : null}
      {may(scope, 'privacy:manage') ? (
        <Section
          title="Personal data of an address"
          about="For people who ask what you hold about them, or want it destroyed."
          buttons={<ActButtons acts={privacyActs} row={undefined} onDone={done} />}
        />
      ) : null}
      <RetentionSection scope={scope} />
      <Section title="Changes">
        <ResourceList resource={activity} />
      </Section>
      <Section title="Leaving" buttons={<ActButtons acts={endActs} row={team} onDone={done} />} />
    </>
  );
};

export default SettingsPage;
