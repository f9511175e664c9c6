/**
 * Changes in each team, with their actors: one document for each change, without names, so that no name outlives its
 * destruction elsewhere.
 */
import { activityOf, type Activity, type ActivityListing } from '../../domain/teams/activity.js';
import type { ActivityTarget } from '../../domain/core/event.js';
import { activityTypes, eventDefinitions, kindsWith, type Recorded } from '../../domain/events.js';
import type { TemplateKind } from '../../domain/templates/events.js';
import { splitStream, type TeamId } from '../../domain/core/ids.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Document, ReadModels } from '../../domain/ports/read-models.js';
import { API_KEYS, type ApiKeyDocument } from '../keys/api-keys.js';
import {
  ASSETS,
  type AssetDocument,
  ATTACHMENT_TEMPLATES,
  BLOCKS,
  TEMPLATES,
  type TemplateDocument,
} from '../templates/templates.js';
import { OAUTH_APPS, type OAuthAppDocument } from '../apps/apps.js';
import { counted, readPage, type Page, type Paging } from '../core/pages.js';
import type { Projection, Step } from '../core/projection.js';
import { SENDER_DOMAINS, type SenderDomainsDocument } from '../domains/sender-domains.js';
import { TEAMS, type TeamDocument } from './teams.js';

export const TEAM_ACTIVITY = 'teamActivity';

/** How far each stream is folded, and nothing else. Streams of one team that share an id may share a document. */
const STREAMS = 'teamActivityStreams';

export type TeamActivityDocument = Document & Readonly<{ team: string; at: string; actor: string; activity: Activity }>;

type Deps = Readonly<{ readModels: ReadModels; limits: Pick<Limits, 'listTotalMax'> }>;

/** The prefix of an actor that is an API key. */
const KEY_PREFIX = 'apiKey:';

const step = (recorded: Recorded): readonly Step[] => {
  const { event, stream, position, metadata } = recorded;
  const line = eventDefinitions[event.type].activity;
  if (line === undefined) return [];
  const activity = activityOf(line, recorded);
  const { teamId: team, eventId, occurredAt: at, actor } = metadata;
  const document: TeamActivityDocument = { id: eventId, seq: position, position, team, at, actor, activity };
  const { id } = splitStream(stream);
  return [
    { collection: TEAM_ACTIVITY, id: eventId, document },
    { collection: STREAMS, id, document: { id, seq: position, position } },
  ];
};

export const teamActivityProjection: Projection = {
  name: 'teamActivity',
  collections: [
    { name: TEAM_ACTIVITY, version: 1, fields: ['team'], indexes: [['team']] },
    { name: STREAMS, version: 1, fields: [], indexes: [] },
  ],
  main: STREAMS,
  kinds: kindsWith(activityTypes),
  decrypts: [],
  on: Object.fromEntries(activityTypes.map((type) => [type, step])),
};

/** Newest first. */
export const listTeamActivity = async (deps: Deps, teamId: TeamId, paging: Paging): Promise<Page<ActivityListing>> => {
  const where = { team: { eq: teamId } };
  const list = {
    collection: TEAM_ACTIVITY,
    where,
    searchTotalMax: deps.limits.listTotalMax,
    total: () => counted(deps, TEAM_ACTIVITY, where),
  };
  const { data, meta } = await readPage<TeamActivityDocument, TeamActivityDocument>(
    deps.readModels,
    list,
    paging,
    (document) => document,
  );
  const names = new Map<string, string | null>();
  const nameOnce = async (target: ActivityTarget, id: string): Promise<string | null> => {
    const key = `${target} ${id}`;
    if (!names.has(key)) names.set(key, await nameOf(deps.readModels, teamId, target, id));
    return names.get(key) ?? null;
  };
  const listed: ActivityListing[] = [];
  for (const { id: eventId, at, actor, activity } of data) {
    const key = actor.startsWith(KEY_PREFIX) ? actor.slice(KEY_PREFIX.length) : undefined;
    const actorName = key === undefined ? null : await nameOnce('api-key', key);
    listed.push({ ...activity, eventId, at, actor, name: await nameOnce(activity.target, activity.id), actorName });
  }
  return { data: listed, meta };
};

const templateLists = { template: TEMPLATES, 'attachment-template': ATTACHMENT_TEMPLATES, block: BLOCKS } as const;

const nameOf = async (
  { get }: Pick<ReadModels, 'get'>,
  teamId: TeamId,
  target: ActivityTarget,
  id: string,
): Promise<string | null> => {
  switch (target) {
    case 'team':
      return ((await get(TEAMS, id)) as TeamDocument | undefined)?.name ?? null;
    case 'api-key':
      return ((await get(API_KEYS, id)) as ApiKeyDocument | undefined)?.key.name ?? null;
    case 'template':
    case 'attachment-template':
    case 'block': {
      const found = await get(templateLists[target], id);
      return (found as TemplateDocument<TemplateKind> | undefined)?.item?.name ?? null;
    }
    case 'asset':
      return ((await get(ASSETS, id)) as AssetDocument | undefined)?.item.filename ?? null;
    case 'sender-domain': {
      const of = (await get(SENDER_DOMAINS, teamId)) as SenderDomainsDocument | undefined;
      return [...(of?.domains ?? []), ...(of?.trash ?? [])].find((domain) => domain.id === id)?.domain ?? null;
    }
    case 'app':
      return ((await get(OAUTH_APPS, id)) as OAuthAppDocument | undefined)?.app.name ?? null;
    case 'webhook':
    case 'member':
    case 'invitation':
      return null;
  }
};
