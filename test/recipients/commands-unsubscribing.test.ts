/**
 * Recipients that unsubscribe from a list by the link of a mail: what stops, what goes on, and what is known when the
 * mail is archived.
 */
import t from 'tap';
import { suppressionIdOf, suppressedPlaces } from '../../src/commands/recipients/suppression-check.js';
import { readUnsubscribeToken, unsubscribeUrl } from '../../src/commands/recipients/unsubscribe.js';
import {
  assertDefined,
  emailStream,
  parseEmailId,
  suppressionStream,
  type EmailId,
} from '../../src/domain/core/ids.js';
import { openReaderTokens } from '../../src/domain/recipients/tracking.js';
import {
  caller,
  commandsOfTest,
  openWorld,
  OTHER_TEAM,
  schemaSaying,
  simple,
  stranger,
  TEAM,
  welcome,
  withTemplate,
} from '../support/command-world.js';
import { T0 } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';

const ann = 'ann@example.org';
const LIST = 'newsletter';
const news = { ...welcome, slug: 'news', unsubscribeList: LIST };

const openNews = async () => {
  const world = await withTemplate();
  await world.commands.createTemplate(caller, news);
  await world.commands.createTemplate(caller, { ...news, slug: 'offers', unsubscribeList: 'offers' });
  const send = async (templateId: string) => {
    const { body } = await world.commands.sendEmail(caller, simple({ templateId }));
    return { id: assertDefined(parseEmailId(body.id), 'email id'), status: body.status };
  };
  const tokenOf = (emailId: EmailId): string =>
    unsubscribeUrl(world.deps, '', { teamId: TEAM, emailId, recipient: 0, address: ann, list: LIST }).slice(
      '/u/'.length,
    );
  const statusOf = async (templateId: string) =>
    (await world.commands.getEmail(caller, (await send(templateId)).id)).status;
  return { ...world, send, tokenOf, statusOf };
};

void t.test('who unsubscribes gets no more mail of that list, and every other', async (t) => {
  const { commands, deps, send, tokenOf, statusOf, events } = await openNews();
  const { id } = await send('news');
  const token = tokenOf(id);
  t.match(await commands.readSubscription(token), { list: LIST, company: 'Example Ltd', isSubscribed: true });
  t.equal(await statusOf('news'), 'queued', 'to look changes nothing');

  t.match(await commands.unsubscribe(token, 'request-9'), { list: LIST, isSubscribed: false });
  await commands.unsubscribe(token, 'request-10');
  const stream = suppressionStream(suppressionIdOf(deps, TEAM, ann, LIST));
  t.match(await events(stream), [
    { type: 'AddressSuppressed', data: { reason: 'unsubscribe', list: LIST, emailId: id }, sealed: { address: ann } },
  ]);
  t.equal((await events(stream)).length, 1, 'once');
  t.match((await deps.eventLog.load(stream))[0]!.metadata, {
    actor: 'recipient',
    teamId: TEAM,
    correlationId: 'request-9',
  });
  t.match(await commands.readSubscription(token), { isSubscribed: false });
  t.equal(await statusOf('news'), 'failed');
  for (const other of ['offers', 'welcome']) t.equal(await statusOf(other), 'queued', other);

  t.match(await commands.subscribeAgain(token, 'request-11'), { isSubscribed: true });
  await commands.subscribeAgain(token, 'request-12');
  t.equal((await events(stream)).length, 2);
  t.equal(await statusOf('news'), 'queued');
  await commands.unsubscribe(token, 'request-13');
  t.equal(await statusOf('news'), 'failed', 'and may change their mind again');
});

void t.test('the link of an archived mail unsubscribes still, and brings no address back', async (t) => {
  const { commands, deps, events, send, tokenOf, statusOf } = await openNews();
  const { id } = await send('news');
  const token = tokenOf(id);
  await deps.eventLog.destroyKey(emailStream(id));
  t.match(await commands.readSubscription(token), { list: LIST, isSubscribed: true, locale: 'en-US' });
  await commands.unsubscribe(token, 'request-9');
  const suppressionId = suppressionIdOf(deps, TEAM, ann, LIST);
  const [told, ...more] = await events(suppressionStream(suppressionId));
  t.same(
    [told, more],
    [{ type: 'AddressSuppressed', data: { at: T0, reason: 'unsubscribe', emailId: id, list: LIST }, sealed: {} }, []],
  );
  t.match(await commands.readSuppressions(caller, [suppressionId]), [
    { email: null, list: LIST, reason: 'unsubscribe' },
  ]);
  t.equal(await statusOf('news'), 'failed');
});

void t.test('a suppression of the list is added, found, listed and removed by its own', async (t) => {
  const { commands, deps } = await openNews();
  const added = await commands.addSuppression(caller, { email: ann, list: LIST });
  t.match(added, { email: ann, list: LIST, reason: 'manual', id: suppressionIdOf(deps, TEAM, ann, LIST) });
  t.match(await commands.checkSuppression(caller, ann), { suppressed: false, suppression: null });
  t.match(await commands.checkSuppression(caller, ann, LIST), { suppressed: true, suppression: { list: LIST } });
  t.match(await commands.checkSuppression(caller, ann, 'offers'), { suppressed: false });
  t.same(await suppressedPlaces(deps, OTHER_TEAM, [{ email: ann }], LIST), []);
  await commands.addSuppression(caller, { email: ann });
  t.match(
    await commands.checkSuppression(caller, ann, LIST),
    { suppression: { list: null } },
    'kept from all comes first',
  );
  await commands.removeSuppression(caller, suppressionIdOf(deps, TEAM, ann, LIST));
  t.same(await suppressedPlaces(deps, TEAM, [{ email: ann }], LIST), [0], 'still kept from all');
});

void t.test('an import keeps addresses from the lists that it names', async (t) => {
  const { commands } = await openNews();
  const bytes = Buffer.from(
    `email,list,reason\r\n${ann},${LIST},unsubscribe\r\n${ann},,\r\nx@example.org,No List,\r\n`,
  );
  t.match(
    await commands.importSuppressions(caller, { bytes, parseLine: (line) => JSON.parse(line.toString()) as unknown }),
    {
      added: 2,
      invalid: 1,
      errors: [{ line: 4, message: /the list is no name/ }],
    },
  );
  t.match(await commands.checkSuppression(caller, ann), { suppression: { list: null, reason: 'import' } });
});

void t.test('a token is good as it is, for its purpose, at the service that made it', async (t) => {
  const { commands, deps, send, tokenOf } = await openNews();
  const token = tokenOf((await send('news')).id);
  t.ok(readUnsubscribeToken(deps, token));
  const changed = [...token].map(
    (letter, index) => token.slice(0, index) + (letter === 'A' ? 'B' : 'A') + token.slice(index + 1),
  );
  const elsewhere = await openWorld();
  const payload = openReaderTokens(deps.keys, 'unsubscribe').open(token)!;
  const bad = [
    ...changed,
    token.slice(0, -1),
    `${token}A`,
    `${token}=`,
    `${token} `,
    '',
    'A'.repeat(401),
    openReaderTokens(deps.keys, 'another purpose').seal(payload),
    openReaderTokens(deps.keys, 'unsubscribe').seal(payload.subarray(0, 50)),
  ];
  for (const one of bad) t.equal(readUnsubscribeToken(deps, one), undefined, one);
  t.equal(
    readUnsubscribeToken(
      { keys: { fingerprint: (purpose, text) => elsewhere.keys.fingerprint(`${purpose}!`, text) } },
      token,
    ),
    undefined,
  );
  t.equal(await commands.readSubscription(bad[0]!), undefined);
  for (const command of [commands.unsubscribe, commands.subscribeAgain])
    t.equal(await command(bad[0]!, 'request-1'), undefined);
});

void t.test(
  'a template that names a list needs an address for its links; one that shows the link needs a list',
  async (t) => {
    const { deps, commands, send } = await openNews();
    const { linkBase: _unset, ...without } = deps;
    const unset = commandsOfTest(without);
    await refusedWith(t, unset.createTemplate(caller, { ...news, slug: 'other' }), 'PUBLIC_URL_REQUIRED');
    await refusedWith(t, unset.sendEmail(caller, simple({ templateId: 'news' })), 'PUBLIC_URL_REQUIRED');
    await refusedWith(
      t,
      unset.sendBulk(caller, { templateId: 'news', recipients: [{ email: ann, variables: { name: 'Ann' } }] }),
      'PUBLIC_URL_REQUIRED',
    );
    await unset.sendEmail(caller, simple());
    const headers = { 'list-UNSUBSCRIBE': '<https://elsewhere.example/u>' };
    await refusedWith(t, commands.sendEmail(caller, simple({ templateId: 'news', headers })), 'VALIDATION_ERROR');
    await commands.sendEmail(caller, simple({ headers }));
    t.equal((await send('news')).status, 'queued');
    const showing = { ...news, slug: 'shown', schema: schemaSaying('{{__UNSUBSCRIBE_URL__}}') };
    await refusedWith(t, commands.createTemplate(caller, { ...showing, unsubscribeList: null }), 'VALIDATION_ERROR');
    const made = await commands.createTemplate(caller, showing);
    t.equal(made.unsubscribeList, LIST);
    t.match(await commands.templateVersion(caller, 'shown', '1'), { unsubscribeList: LIST });
    t.match(
      (await commands.previewTemplate(caller, 'shown', { variables: { name: 'Ann' } }, new AbortController().signal))
        .text,
      'https://mail.example.com/u/example',
    );
    await refusedWith(t, commands.updateTemplate(caller, 'shown', { unsubscribeList: null }), 'VALIDATION_ERROR');
    const changed = await commands.updateTemplate(caller, 'news', { unsubscribeList: null });
    t.equal(changed.unsubscribeList, null);
    t.match(await commands.getTemplate(caller, 'news'), { unsubscribeList: null, status: 'draft' });
    const copied = await commands.importTemplate(stranger, await commands.getTemplate(caller, 'shown'));
    t.equal(copied.template.unsubscribeList, LIST);
  },
);
