/** The audit entry of each event, and the stored form of the network and device of a caller. */
import t from 'tap';
import { auditActorOf, auditScopeOf, isWithinMembership, membershipsAfter } from '../../src/domain/audit/entry.js';
import { auditCategories } from '../../src/domain/core/event.js';
import { endOfMonth, monthsUpTo, callOrigin, readOrigin, writeOrigin } from '../../src/domain/access/origins.js';
import { auditedTypes, auditEntryOf, eventDefinitions, type DomainEvent } from '../../src/domain/events.js';
import { NO_TEAM } from '../../src/domain/core/ids.js';
import { current } from '../../src/event-log/codec.js';
import { goldenEvent } from '../support/golden-events.js';

const USER = '0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21';
const TEAM = '11111111-1111-4111-8111-111111111111';
const AT = '2030-01-01T12:00:00.000Z';

const metadata = (actor: string, teamId: string = TEAM) => ({
  eventId: 'e1',
  teamId,
  occurredAt: AT,
  actor,
  correlationId: 'request-1',
  causationId: 'request-1',
});

void t.test('every type of event that is listed has a category and an action of its own', async (t) => {
  const actions = new Set<string>();
  const categories = new Set<string>();
  t.ok(auditedTypes.length > 50);
  for (const type of auditedTypes) {
    const event: DomainEvent = goldenEvent(current[type]);
    const entry = auditEntryOf({ event, stream: 'thing-1', metadata: metadata(`user:${USER}`) });
    t.ok(entry !== undefined && auditCategories.includes(entry.category), `${type} has one of the six categories`);
    t.match(entry?.action, /^[a-z_]+\.[a-z_]+$/, `${type}: an action`);
    const { action, category } = eventDefinitions[type].audit!;
    if (typeof category === 'string') categories.add(category);
    if (typeof action !== 'string') continue;
    t.notOk(actions.has(action), `${action} is of one type alone`);
    actions.add(action);
  }
  t.strictSame([...categories].sort(), [...auditCategories].sort(), 'each category has something');
});

void t.test('actors and of whom the log tells', async (t) => {
  t.strictSame(auditActorOf(`user:${USER}`), { type: 'user', id: USER });
  t.strictSame(auditActorOf('apiKey:key_1'), { type: 'api_key', id: 'key_1' });
  t.strictSame(auditActorOf('grant:grant_1'), { type: 'app', id: 'grant_1' });
  t.strictSame(auditActorOf('cli'), { type: 'operator', id: null });
  t.strictSame(auditActorOf('processor:erase'), { type: 'system', id: null });
  t.equal(auditScopeOf('apiKey-key_1', metadata('cli')), TEAM);
  t.equal(
    auditScopeOf(`team-${TEAM}`, metadata(`user:${USER}`, NO_TEAM)),
    TEAM,
    'a team that a person of no team makes',
  );
  t.equal(auditScopeOf('session-ses_1', metadata(`user:${USER}`, NO_TEAM)), USER);
  t.equal(auditScopeOf('session-ses_1', metadata('system', NO_TEAM)), undefined);
  t.equal(auditScopeOf('auditOrigins-x', metadata('system', '')), undefined);
});

void t.test('what the service suppresses by itself is not listed, what a caller does is', async (t) => {
  const event = goldenEvent('AddressSuppressed.v1');
  t.equal(auditEntryOf({ event, stream: 'suppression-1', metadata: metadata('processor:note-bounces') }), undefined);
  t.match(auditEntryOf({ event, stream: 'suppression-1', metadata: metadata('apiKey:key_1') }), {
    action: 'suppression.added',
  });
});

void t.test('a refusal says with which code and on which endpoint', async (t) => {
  const event: DomainEvent = {
    type: 'CallDenied',
    data: { at: AT, endpoint: 'POST /api/api-keys', code: 'FORBIDDEN', target: 'apiKey:key_2' },
  };
  t.match(auditEntryOf({ event, stream: 'audit-x', metadata: metadata(`user:${USER}`) }), {
    category: 'data_access',
    action: 'call.denied',
    result: 'denied',
    code: 'FORBIDDEN',
    detail: 'POST /api/api-keys',
    target: { type: 'apiKey', id: 'key_2' },
    count: 1,
  });
  const wrong: DomainEvent = {
    type: 'CallDenied',
    data: { at: AT, endpoint: 'x', code: 'INVALID_CREDENTIALS', target: null },
  };
  t.match(auditEntryOf({ event: wrong, stream: 'audit-x', metadata: metadata(`user:${USER}`) }), {
    category: 'authentication',
    target: null,
  });
});

void t.test('an agent of ten kilobytes, with control characters and turned text, is cut and cleaned', async (t) => {
  const evil = `\u001b[2J\u0007\u202eevil\u2028\ud800${'x'.repeat(10_240)}`;
  const { userAgent, ipAddress } = callOrigin('1'.repeat(100), evil);
  t.equal(userAgent.length, 256);
  t.match(userAgent, /^ \[2J {2}evil {2}x+$/);
  t.equal(ipAddress.length, 64);
  t.strictSame(callOrigin('192.0.2.7', 'Mozilla/5.0 (😀)'), { ipAddress: '192.0.2.7', userAgent: 'Mozilla/5.0 (😀)' });
});

void t.test('where an origin is kept is read as it is written, and nothing else is', async (t) => {
  const place = { scope: USER, month: '2030-01', revision: 12 };
  t.strictSame(readOrigin(writeOrigin(place)), place);
  for (const text of ['', 'x', `${USER}.2030-01`, `${USER}.2030-01#-1`, `email-${USER}.2030-01#1`])
    t.equal(readOrigin(text), undefined);
});

void t.test('months', async (t) => {
  t.equal(endOfMonth('2029-12'), Date.parse('2030-01-01T00:00:00.000Z'));
  const months = monthsUpTo(AT, 731);
  t.equal(months[0], '2027-12');
  t.equal(months.at(-1), '2030-02', 'one more, for a clock that is ahead');
  t.equal(new Set(months).size, months.length);
});

void t.test('who was in a team when', async (t) => {
  const at = (minute: number): string => `2030-01-01T12:0${minute}:00.000Z`;
  const added = (minute: number) => ({
    type: 'MemberAdded' as const,
    data: { at: at(minute), userId: USER, role: 'viewer' as const },
  });
  const removed = (minute: number) => ({
    type: 'MemberRemoved' as const,
    data: { at: at(minute), userId: USER, reason: 'left' as const },
  });
  const spells = [added(1), removed(3), added(5)].reduce<ReturnType<typeof membershipsAfter>>(membershipsAfter, []);
  t.strictSame(spells, [
    { user: USER, from: at(1), until: at(3) },
    { user: USER, from: at(5) },
  ]);
  const told = [0, 1, 2, 3, 4, 5, 6].filter((minute) =>
    spells.some((spell) => isWithinMembership(spell, { scope: USER, at: at(minute) })),
  );
  t.strictSame(told, [1, 2, 5, 6]);
  t.equal(
    Array.from({ length: 300 }, (_, n) => added(n % 10)).reduce<ReturnType<typeof membershipsAfter>>(
      membershipsAfter,
      [],
    ).length,
    200,
  );
});
