/** Equal documents and queries get equal answers from both engines. */
import { join } from 'node:path';
import t from 'tap';
import { openMongo } from '../../../src/adapters/mongodb/client.js';
import { openMongoReadModels } from '../../../src/adapters/read-models/mongodb.js';
import { openSqliteReadModels } from '../../../src/adapters/read-models/sqlite.js';
import type { Logger } from '../../../src/domain/ports/logger.js';
import type { Document, Query, ReadModels } from '../../../src/domain/ports/read-models.js';
import { foldForSearch } from '../../../src/domain/core/search-text.js';
import { anEmail, emailsSpec, put } from '../../contracts/read-models-fixtures.js';
import { temporaryDirectory } from '../../support/data-directory.js';
import { seededRandom, type Random } from '../../support/random.js';
import { mongoServer } from '../../support/servers.js';

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };

const SEEDS = [11, 12, 13];
const [DOCUMENTS, ROUNDS, QUERIES] = [240, 4, 60];

/** Few, so that phrases of them are found; among them what servers take for operators and patterns. */
const pieces =
  'an na ann ba a b . .* ( ) [a] {1} \\ / $ ^ | + ? "x" \' %_ @ @example.com order 7 17 ß SS İ i ς σ ﬁ é é 漢 漢字 字 テス ト 가나 😀 😀😃 \n   - #'.split(
    ' ',
  );
const terms = [
  'tag:a',
  'tag:A',
  'tag:ab',
  'tag:漢',
  'key:"x.y"',
  'value:["$a","1"]',
  'recipient:a@b.example',
  '$where',
  '',
];
const statuses = ['queued', 'sent', 'failed', 'bounced'];
const teams = ['team-1', 'team-1', 'team-1', 'team-2', 'team-3'];

const textOf = (random: Random, piecesMax: number): string =>
  foldForSearch(
    Array.from({ length: random.between(0, piecesMax) }, () => random.pick(pieces)).join(random.pick(['', '', ' '])),
  );

const momentOf = (random: Random): string => new Date(Date.UTC(2026, 0, random.between(1, 20))).toISOString();

const documentOf = (random: Random, seq: number): Document => {
  const { createdAt: _, ...email } = anEmail(seq, { teamId: random.pick(teams), status: random.pick(statuses) });
  const own = [...new Set(Array.from({ length: random.between(0, 4) }, () => random.pick(terms)))];
  return {
    ...email,
    ...(random.chance(0.9) ? { createdAt: momentOf(random) } : {}),
    ...(random.chance(0.8) ? { cost: random.between(0, 4) / 2 } : {}),
    ...(random.chance(0.9) ? { text: textOf(random, 8), ...(own.length === 0 ? {} : { terms: own }) } : {}),
  };
};

type Answered = Omit<Query, 'limit' | 'after' | 'skip'>;

const conditionsOf = (random: Random): Query['where'] => ({
  ...(random.chance(0.3)
    ? { status: random.pick([{ eq: random.pick(statuses) }, { in: [random.pick(statuses), 'sent'] }]) }
    : {}),
  ...(random.chance(0.2) ? { cost: random.pick([{ eq: 1 }, { gte: 1 }, { lt: 1.5 }, { gte: 0.5, lte: 1.5 }]) } : {}),
  ...(random.chance(0.2) ? { createdAt: random.pick([{ gte: momentOf(random) }, { lt: momentOf(random) }]) } : {}),
  ...(random.chance(0.1) ? { seq: { gte: random.between(1, 100), lte: random.between(100, DOCUMENTS * 2) } } : {}),
});

const queryOf = (random: Random): Answered => {
  const anyOf = random.chance(0.15)
    ? { anyOf: [{ status: { eq: 'sent' } }, { status: { eq: 'failed' }, cost: { gte: 1 } }] }
    : {};
  const { status, cost, ...where } = conditionsOf(random);
  const filters =
    'anyOf' in anyOf ? { where, ...anyOf } : { where: { ...where, ...(status && { status }), ...(cost && { cost }) } };
  if (random.chance(0.3)) {
    const sort = { field: random.pick(['seq', 'createdAt', 'cost']), direction: random.pick(['asc', 'desc'] as const) };
    const team = random.chance(0.7) ? { teamId: { eq: random.pick(teams) } } : {};
    return { ...filters, where: { ...filters.where, ...team }, sort };
  }
  const search = random.chance(0.8) ? { search: textOf(random, random.pick([1, 1, 2, 3])) } : {};
  const wanted =
    'search' in search && random.chance(0.7)
      ? []
      : [random.pick(terms), ...(random.chance(0.2) ? [random.pick(terms)] : [])];
  return { ...filters, where: { ...filters.where, teamId: { eq: random.pick(teams) } }, ...search, terms: wanted };
};

const compare = async (t: Tap, [one, other]: readonly [ReadModels, ReadModels], random: Random): Promise<number> => {
  const query = queryOf(random);
  const what = JSON.stringify(query);
  const all = await one.find('emails', { ...query, limit: 1_000 });
  const answers = async (asked: Omit<Query, 'where'>): Promise<void> =>
    void t.same(
      await other.find('emails', { ...query, ...asked }),
      await one.find('emails', { ...query, ...asked }),
      what,
    );
  t.same(await other.find('emails', { ...query, limit: 1_000 }), all, what);
  await answers({ limit: 3, skip: random.between(0, 5) });
  const last = random.pick([undefined, ...all]);
  const value = last?.[query.sort?.field ?? 'seq'];
  if (last !== undefined && (typeof value === 'string' || typeof value === 'number'))
    await answers({ limit: 5, after: { value, seq: last.seq } });
  t.equal(await other.count('emails', query, 500), await one.count('emails', query, 500), what);
  if (query.sort === undefined && (query.search !== undefined || (query.terms ?? []).length > 0)) {
    const counted = {
      where: query.where,
      ...(query.anyOf && { anyOf: query.anyOf }),
      terms: query.terms ?? [],
      limit: 4,
      skip: 1,
    };
    const asked = query.search === undefined ? counted : { ...counted, search: query.search };
    t.same(await other.findCounted('emails', asked, 500), await one.findCounted('emails', asked, 500), what);
  }
  return all.length;
};

type Tap = typeof t;

for (const seed of SEEDS)
  void t.test(`lists and searches of seed ${seed}`, async (t) => {
    const server = await mongoServer(t);
    if (server === undefined) return;
    const random = seededRandom(seed);
    const sqlite = openSqliteReadModels({ file: join(temporaryDirectory(t), 'documents.db') });
    const mongo = openMongoReadModels({
      mongo: await openMongo({ url: server.url, logger: silent }),
      clock: { now: Date.now },
      logger: silent,
    });
    t.teardown(() => Promise.all([sqlite.close(), mongo.close()]));
    const engines = [sqlite, mongo] as const;
    const stores = await Promise.all(engines.map((engine) => engine.projection('emails', [emailsSpec])));
    let found = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const documents = new Map<number, Document>();
      for (let at = 0; at < DOCUMENTS / ROUNDS; at += 1) {
        const seq = random.chance(0.7) ? round * 100 + at + 1 : random.between(1, round * 100 + 50);
        documents.set(seq, documentOf(random, seq));
      }
      const gone = Array.from({ length: 3 }, () => random.between(1, 400)).filter((seq) => !documents.has(seq));
      for (const store of stores)
        await put(
          store,
          [...documents.values()],
          gone.map((seq) => anEmail(seq).id),
        );
      for (let at = 0; at < QUERIES; at += 1) found += await compare(t as unknown as Tap, engines, random);
    }
    t.ok(found > QUERIES * ROUNDS, 'the queries find something');
  });
