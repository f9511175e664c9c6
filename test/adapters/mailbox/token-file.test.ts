/** The token of the mailbox: made once, for its owner alone, whole under its name. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openMailboxToken } from '../../../src/service/mailbox.js';
import { temporaryDirectory } from '../../support/data-directory.js';

void t.test('it is made at first use and stays', async (t) => {
  const directory = join(temporaryDirectory(t), 'data');
  const file = join(directory, 'mailbox-token');
  const token = openMailboxToken(file);
  t.match(token, /^[A-Za-z0-9_-]{32}$/);
  t.equal(openMailboxToken(file), token);
  t.equal(readFileSync(file, 'utf8'), `${token}\n`);
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.same(readdirSync(directory), ['mailbox-token'], 'nothing is left beside it');
  t.not(openMailboxToken(join(directory, 'another')), token);
});

void t.test('a file that holds no token is refused with what helps', async (t) => {
  const file = join(temporaryDirectory(t), 'mailbox-token');
  for (const text of ['', 'short\n', `${'a'.repeat(32)} b`]) {
    writeFileSync(file, text);
    t.throws(() => openMailboxToken(file), {
      message: /mailbox-token does not hold the token of the mailbox; delete it/,
    });
  }
});
