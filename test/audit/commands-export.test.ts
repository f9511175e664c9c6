/** An exported audit log is checked by itself: whole it is sound in both forms, and whatever is done to it is found. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { checkExport } from '../../src/cli/audit.js';
import { openAuditExport, type Exported, chainAfter, CHAIN_START } from '../../src/commands/audit/export.js';
import type { CheckedExport, ExportFinding } from '../../src/commands/audit/export-check.js';
import type { Caller } from '../../src/commands/core/caller.js';
import { openAuditRecorder } from '../../src/commands/audit/record.js';
import { callOrigin } from '../../src/domain/access/origins.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { auditStream } from '../../src/domain/core/ids.js';
import { sealOnce } from '../../src/processors/audit/ledger.js';
import {
  caller,
  OTHER_TEAM,
  openWorld,
  simple,
  stranger,
  TEAM,
  welcome,
  type World,
} from '../support/command-world.js';
import { signedIn } from '../support/people.js';

const evil = '=HYPERLINK("http://evil.example")';
const by = (ipAddress: string, userAgent: string): Caller => ({
  ...caller,
  calledFrom: () => callOrigin(ipAddress, userAgent),
});
const never = new AbortController().signal;

const seal = (world: World, everyEvents = 7): Promise<number> =>
  sealOnce(
    { ...world.deps, store: world.store, limits: { ...world.deps.limits, ledgerSealEveryEvents: everyEvents } },
    never,
  );

/** Two teams at work, people, reads, and mails between; sealed in small segments, of which some have no entry. */
const story = async (): Promise<World> => {
  const world = await openWorld();
  await world.commands.createTemplate(caller, welcome);
  await signedIn(world.deps, { teamId: TEAM });
  for (let n = 0; n < 4; n += 1) {
    await world.commands.createApiKey(by(`192.0.2.${n}`, n === 1 ? evil : `curl "${n}", more`), {
      name: `key ${n}`,
      permissions: ['emails:send'],
    });
    await world.commands.createApiKey(stranger, { name: 'theirs', permissions: ['emails:send'] });
    await seal(world);
  }
  for (let n = 0; n < 12; n += 1) await world.commands.sendEmail(caller, simple());
  await seal(world);
  const quiet = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
  const recorder = openAuditRecorder({ ...world.deps, logger: quiet as never });
  recorder.read(
    {
      teamId: TEAM,
      actor: 'user:0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21',
      requestId: 'r',
      calledFrom: () => callOrigin('::1', ''),
    },
    'email.read',
    'email:1',
  );
  const stop = new AbortController();
  stop.abort();
  await recorder.worker.run(stop.signal);
  await seal(world);
  return world;
};

type Made = Readonly<{ text: string; exported: Exported }>;

const exportOf = async (world: World, format: 'jsonl' | 'csv', period = {}, teamId = TEAM): Promise<Made> => {
  let exported: Exported | undefined;
  const pieces: string[] = [];
  const deps = { ...world.deps, store: world.store };
  for await (const piece of await openAuditExport(
    deps,
    { teamId, format },
    period,
    async (made) => void (exported = made),
  ))
    pieces.push(piece);
  return { text: pieces.join(''), exported: exported! };
};

const check = (text: string, cut = 1_000): Promise<CheckedExport | ExportFinding> =>
  checkExport(
    (async function* () {
      for (let at = 0; at < text.length; at += cut) yield text.slice(at, at + cut);
    })(),
  );

const sound = async (t: Test, { text, exported }: Made): Promise<CheckedExport> => {
  const result = await check(text);
  if ('line' in result) throw new Error(`line ${result.line} ${result.message}`);
  t.equal(result.entries, exported.entries);
  t.equal(result.root, exported.root);
  return result;
};

void t.test('both forms are sound, have the same entries, and the seals of the ledger', async (t) => {
  const world = await story();
  const json = await exportOf(world, 'jsonl');
  const csv = await exportOf(world, 'csv');
  const checked = await sound(t, json);
  t.strictSame((await sound(t, csv)).seals, checked.seals);
  const entries = json.text
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      const parsed = JSON.parse(line) as {
        kind: string;
        entry?: { action: string; network: string | null; agent: string | null };
      };
      return parsed.kind === 'entry' ? [parsed.entry!] : [];
    });
  t.strictSame(
    entries.map(({ action }) => action),
    [
      'team.created',
      'template.created',
      'template.published',
      'user.registered',
      'member.added',
      'session.started',
      ...Array<string>(4).fill('api_key.created'),
      'email.read',
    ],
  );
  t.match(entries[7], { network: '192.0.2.1', agent: evil });
  t.ok(csv.text.includes(`"'=HYPERLINK(""http://evil.example"")"`), 'a cell that begins like a formula is none');
  t.notOk(json.text.includes('theirs'), 'nothing of another team');
  let head = 0;
  for await (const { events } of world.store.readAll(0))
    for (const event of events)
      if (event.type === 'LedgerSealed.v1') head = (JSON.parse(event.data) as { position: number }).position;
  t.equal(json.exported.upTo, head);
  t.equal([...checked.seals.keys()].at(-1), head);
});

void t.test('a period has its own entries and no more, and an empty log is a sound export too', async (t) => {
  const world = await story();
  await world.clock.advance(10 * 86_400_000);
  await world.commands.createApiKey(caller, { name: 'late', permissions: ['emails:send'] });
  await seal(world);
  const now = world.clock.now();
  const late = await exportOf(world, 'jsonl', { from: new Date(now - 60_000).toISOString() });
  t.equal((await sound(t, late)).entries, 1);
  t.ok(late.text.includes('late'));
  const early = await exportOf(world, 'jsonl', { to: new Date(now - 60_000).toISOString() });
  t.equal((await sound(t, early)).entries, 11);
  const none = await exportOf(await openWorld(), 'csv');
  t.equal((await sound(t, none)).entries, 0);
  t.equal((await sound(t, await exportOf(world, 'jsonl', {}, OTHER_TEAM))).entries, 5);
});

void t.test('more than one export takes is refused before anything is read', async (t) => {
  const world = await story();
  const deps = { ...world.deps, store: world.store, limits: { ...world.deps.limits, auditExportEventsMax: 20 } };
  const refused = await openAuditExport(deps, { teamId: TEAM, format: 'jsonl' }, {}, async () => {}).catch(
    (fault: unknown) => fault,
  );
  t.ok(refused instanceof DomainError && refused.code === 'AUDIT_EXPORT_TOO_LARGE');
});

void t.test('what is not sealed yet waits for the next export', async (t) => {
  const world = await story();
  await world.commands.createApiKey(caller, { name: 'unsealed', permissions: ['emails:send'] });
  t.equal((await sound(t, await exportOf(world, 'jsonl'))).entries, 11);
  await seal(world);
  t.equal((await sound(t, await exportOf(world, 'jsonl'))).entries, 12);
});

void t.test('seals of a copied log name other positions: then events are counted', async (t) => {
  const world = await story();
  await world.clock.advance(10 * 86_400_000);
  await world.commands.createApiKey(caller, { name: 'late', permissions: ['emails:send'] });
  await seal(world);
  const from = new Date(world.clock.now() - 60_000).toISOString();
  const expected = await exportOf(world, 'jsonl', { from });
  const moved: World['store'] = {
    ...world.store,
    readAll: async function* (after: number, options: Parameters<World['store']['readAll']>[1]) {
      for await (const { events, position } of world.store.readAll(
        Math.max(0, Math.ceil((after - 1_000) / 3)),
        options,
      ))
        yield {
          events: events.map((event) => ({ ...event, position: 1_000 + 3 * event.position })),
          position: 1_000 + 3 * position,
        };
    },
  } as World['store'];
  t.equal((await exportOf({ ...world, store: moved }, 'jsonl', { from })).text, expected.text);
});

const isFound = (result: CheckedExport | ExportFinding): result is ExportFinding => 'line' in result;

void t.test('a line that is changed, taken out, moved or added is found, and named', async (t) => {
  const world = await story();
  for (const format of ['jsonl', 'csv'] as const) {
    const { text } = await exportOf(world, format);
    const end = format === 'csv' ? '\r\n' : '\n';
    const lines = text.split(end).slice(0, -1);
    const first = format === 'csv' ? 1 : 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: first, max: lines.length - 1 }),
        fc.integer({ min: first, max: lines.length - 1 }),
        fc.constantFrom('change', 'drop', 'swap', 'repeat'),
        fc.nat(),
        async (at, other, how, pick) => {
          const changed = [...lines];
          let expected = at;
          switch (how) {
            case 'change': {
              const place = pick % changed[at]!.length;
              const letter = changed[at]![place] === '7' ? '8' : '7';
              changed[at] = `${changed[at]!.slice(0, place)}${letter}${changed[at]!.slice(place + 1)}`;
              break;
            }
            case 'drop':
              changed.splice(at, 1);
              break;
            case 'swap':
              if (at === other) return;
              [changed[at], changed[other]] = [changed[other]!, changed[at]!];
              expected = Math.min(at, other);
              break;
            case 'repeat':
              changed.splice(at, 0, changed[at]!);
              expected = at + 1;
              break;
          }
          const result = await check(changed.join(end) + end, 333);
          if (!isFound(result)) throw new Error('not found');
          if (result.line !== expected + 1)
            throw new Error(`line ${result.line}, not ${expected + 1}: ${result.message}`);
        },
      ),
      { numRuns: 120 },
    );
    t.pass(format);
  }
});

/** As somebody does it who knows how the chain is made: all links are made anew. */
const relinked = (lines: readonly Readonly<Record<string, unknown>>[]): string => {
  let chain = CHAIN_START;
  return lines
    .map((line) => {
      const { chain: _chain, ...rest } = line;
      const body = JSON.stringify(rest);
      chain = chainAfter(chain, body);
      return `${body.slice(0, -1)},"chain":"${chain}"}\n`;
    })
    .join('');
};

type Line = Record<string, unknown> & {
  kind: string;
  entry: Record<string, unknown>;
  event: Record<string, string>;
  entries: number;
};

void t.test(
  'who makes the chain of the file anew is found by what the events say, by the proof, or by the noted roots',
  async (t) => {
    const world = await story();
    const { text, exported } = await exportOf(world, 'jsonl');
    const parse = (): Line[] =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Line);
    const entryAt = parse().findIndex(({ kind, entry }) => kind === 'entry' && entry['action'] === 'api_key.created');
    const tampered = async (change: (lines: Line[]) => void): Promise<CheckedExport | ExportFinding> => {
      const lines = parse();
      change(lines);
      return check(relinked(lines));
    };
    t.strictSame(await tampered(() => {}), await check(text), 'untouched it is sound');
    t.match(await tampered((lines) => (lines[entryAt]!.entry['action'] = 'email.read')), {
      line: entryAt + 1,
      message: /another `action`/,
    });
    t.match(await tampered((lines) => (lines[entryAt]!.entry['actor'] = { type: 'system', id: null })), {
      line: entryAt + 1,
      message: /`actor`/,
    });
    const inEvent = await tampered((lines) => {
      lines[entryAt]!.event['metadata'] = lines[entryAt]!.event['metadata']!.replace('apiKey:key_1', 'apiKey:key_2');
      lines[entryAt]!.entry['actor'] = { type: 'api_key', id: 'key_2' };
    });
    t.match(inEvent, { message: /proves another entry than the \d+\. of those before it/ });
    const dropped = await tampered((lines) => {
      lines.splice(entryAt, 1);
      lines.at(-1)!.entries -= 1;
    });
    t.match(dropped, { message: /proves/ });
    const truncated = await tampered((lines) => lines.splice(-1));
    t.match(truncated, { message: /has no end/ });
    // The network of a caller is covered by the chain of the file only: the root of the export shows the change.
    const network = await tampered((lines) => (lines[entryAt]!.entry['network'] = '10.0.0.1'));
    t.notOk(isFound(network));
    t.not((network as CheckedExport).root, exported.root);
  },
);

void t.test('the log names the export by its root', async (t) => {
  const world = await story();
  const { exported } = await exportOf(world, 'csv');
  await world.commands.recordAuditExport(caller, { format: 'csv' }, exported);
  const month = new Date(world.clock.now()).toISOString().slice(0, 7);
  t.match((await world.events(auditStream(TEAM, month))).at(-1), {
    type: 'AuditLogExported',
    data: { ...exported, format: 'csv', from: null },
  });
});
