/** The state in which a history begins. */
import { permissions } from '../../src/domain/access/permissions.js';
import { teamStream, type TeamId } from '../../src/domain/core/ids.js';
import { emptyCompany } from '../../src/domain/teams/state.js';
import { startOf } from '../../src/event-log/event-log.js';
import { openNode, type Node } from './node.js';
import { callerOf, openWorld, OTHER_TEAM, START_MS, TEAM, type World } from './world.js';

/** The state in which a history begins: its log, its keys, and the token of an API key of the first team. */
export type Founded = Readonly<{ world: World; token: string }>;

/** `withWebhooks`: for a history that has them, and so one more team. */
export type Base = Readonly<{ plain: Founded; withWebhooks: Founded }>;

/** Worlds in which teams, a template and an API key are there. With a list each mail leaves as copies. */
export const foundingWorld = async (unsubscribeList: string | null = null): Promise<Base> => ({
  plain: await found([TEAM], unsubscribeList),
  withWebhooks: await found([TEAM, OTHER_TEAM], unsubscribeList),
});

const found = async (teams: readonly TeamId[], unsubscribeList: string | null): Promise<Founded> => {
  const world = openWorld({ seed: 1, rates: { fates: {}, faults: {} } });
  const node = openNode(world, 'founder');
  const founded = (async () => {
    for (const team of teams) await foundTeam(node, team, unsubscribeList);
    return (await node.commands.createApiKey(callerOf('start'), { name: 'First', permissions: [...permissions] })).key;
  })();
  let token: string | undefined;
  void founded.then((key) => (token = key));
  while (token === undefined && (await world.scheduler.step()));
  if (token === undefined) await founded;
  return { world, token: token! };
};

const foundTeam = async ({ deps, commands }: Node, team: TeamId, unsubscribeList: string | null): Promise<void> => {
  const at = new Date(START_MS).toISOString();
  const cause = { teamId: team, actor: 'system', correlationId: 'start', causationId: 'start', at };
  const settings = { name: 'Shop', defaultFrom: { email: 'shop@example.com', name: 'Shop' }, company: emptyCompany };
  const stream = teamStream(team);
  await deps.eventLog.append(
    stream,
    startOf(stream),
    [{ type: 'TeamCreated', data: { at, billing: 'unmetered', settings } }],
    cause,
  );
  await commands.createTemplate(callerOf('start', team), {
    slug: 'welcome',
    name: 'Welcome',
    subject: 'Hello {{name}}',
    variables: [{ name: 'name', type: 'string', required: true }],
    schema: {
      sections: [
        { id: 'main', type: 'main', components: [{ id: 'text', type: 'rich-text', content: '<p>Dear {{name}}</p>' }] },
      ],
    },
    unsubscribeList,
    publish: true,
  });
};
