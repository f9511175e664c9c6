/** How many tokens of one person are in use. */
import t from 'tap';
import {
  ACCESS_TOKENS_MAX,
  emptyTokenList,
  evolveTokenList,
  isCounted,
  REFRESH_TOKENS_MAX,
} from '../../src/domain/apps/tokens.js';
import { at } from '../support/email-facts.js';

const counted = (
  second: number,
  grantId: string,
  number: number,
  accessS = 3_600,
  refreshS: number | null = 30 * 86_400,
) => ({
  type: 'OAuthTokensCounted' as const,
  data: {
    at: at(second),
    grantId,
    number,
    accessExpiresAt: at(second + accessS),
    refreshExpiresAt: refreshS === null ? null : at(second + refreshS),
  },
});

void t.test('the newest 50 access tokens and the newest 10 refresh tokens count', async (t) => {
  const events = Array.from({ length: 60 }, (_, index) => counted(index, `grant ${index}`, 1));
  const list = events.reduce(evolveTokenList, emptyTokenList);
  t.equal(list.access.length, ACCESS_TOKENS_MAX);
  t.equal(list.refresh.length, REFRESH_TOKENS_MAX);
  t.notOk(isCounted(list.access, 'grant 9', 1));
  t.ok(isCounted(list.access, 'grant 10', 1));
  t.notOk(isCounted(list.refresh, 'grant 49', 1));
  t.ok(isCounted(list.refresh, 'grant 50', 1));
  t.notOk(isCounted(list.access, 'grant 10', 2), 'a token is one of its grant, by its number');
});

void t.test(
  'a refreshed grant takes one place among the refresh tokens, and what has expired takes none',
  async (t) => {
    const refreshed = Array.from({ length: 20 }, (_, index) => counted(index, 'one', index + 1)).reduce(
      evolveTokenList,
      emptyTokenList,
    );
    t.strictSame(
      refreshed.refresh.map(({ number }) => number),
      [20],
    );
    t.equal(refreshed.access.length, 20);
    const later = evolveTokenList(refreshed, counted(4_000, 'two', 1, 3_600, null));
    t.strictSame(
      later.access.map(({ grantId }) => grantId),
      ['two'],
    );
    t.equal(later.refresh.length, 1);
  },
);
