/** What was there when a history begins. */
import { permissions } from '../../src/domain/api-key/permissions.js';
import { teamStream } from '../../src/domain/ids.js';
import { emptyCompany } from '../../src/domain/team/state.js';
import { startOf } from '../../src/event-log/event-log.js';
import { openNode } from './node.js';
import { callerOf, openWorld, START_MS, TEAM, type World } from './world.js';

/** A world in which the team, a template and an API key are there: every history begins with its log and keys. With a list each mail leaves as copies. */
export const foundingWorld = async (unsubscribeList: string | null = null): Promise<Readonly<{ world: World; token: string }>> => {
  const world = openWorld({ seed: 1, rates: { fates: {}, faults: {} } });
  const node = openNode(world, 'founder');
  const at = new Date(START_MS).toISOString();
  const cause = { teamId: TEAM, actor: 'system', correlationId: 'start', causationId: 'start', at };
  const settings = { name: 'Shop', defaultFrom: { email: 'shop@example.com', name: 'Shop' }, company: emptyCompany };
  const founded = (async () => {
    const stream = teamStream(TEAM);
    await node.deps.eventLog.append(
      stream,
      startOf(stream),
      [{ type: 'TeamCreated', data: { at, billing: 'unmetered', settings } }],
      cause,
    );
    await node.commands.createTemplate(callerOf('start'), {
      slug: 'welcome',
      name: 'Welcome',
      subject: 'Hello {{name}}',
      variables: [{ name: 'name', type: 'string', required: true }],
      schema: {
        sections: [{ id: 'main', type: 'main', components: [{ id: 'text', type: 'rich-text', content: '<p>Dear {{name}}</p>' }] }],
      },
      unsubscribeList,
      publish: true,
    });
    return (await node.commands.createApiKey(callerOf('start'), { name: 'First', permissions: [...permissions] })).key;
  })();
  let token: string | undefined;
  void founded.then((key) => (token = key));
  while (token === undefined && (await world.scheduler.step()));
  if (token === undefined) await founded;
  return { world, token: token! };
};
