/** The stored form of a password, and the cost of trying one. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { verify } from '@node-rs/argon2';
import { argon2Passwords } from '../../../src/adapters/passwords/argon2.js';

const PASSWORD = 'a pelican in the rain';
const OF_TODAY = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/;

void t.test('a password is kept as Argon2id with 19 MiB, two passes and a salt of its own', async (t) => {
  const { hash, verify: isRight, isOutdated } = argon2Passwords();
  const [first, second] = [await hash(PASSWORD), await hash(PASSWORD)];
  for (const kept of [first, second]) {
    t.match(kept, OF_TODAY, '16 bytes of salt, 32 bytes of hash');
    t.notOk(isOutdated(kept));
    t.equal(await isRight(kept, PASSWORD), true);
    t.equal(await isRight(kept, `${PASSWORD}.`), false);
  }
  t.not(first.split('$')[4], second.split('$')[4], 'the salt');
  t.not(first.split('$')[5], second.split('$')[5], 'the hash');
  const page = readFileSync(fileURLToPath(new URL('../../../../docs/users.md', import.meta.url)), 'utf8');
  t.match(page, /Argon2id \(19 MiB, two passes\)/, 'as the documentation says');
  t.equal(19 * 1_024, 19_456);
});

void t.test('what was kept with other parameters is good, and made anew', async (t) => {
  const { isOutdated } = argon2Passwords();
  const rest = 'bm9ib2R5c3NhbHQxMjM0NQ$Zm9yIG5vYm9keSBhdCBhbGwuLi4uLi4uLi4uLi4uLi4';
  for (const [parameters, outdated] of [
    ['argon2id$v=19$m=19456,t=2,p=1', false],
    ['argon2id$v=19$m=9728,t=2,p=1', true],
    ['argon2id$v=19$m=19456,t=1,p=1', true],
    ['argon2id$v=19$m=19456,t=2,p=2', true],
    ['argon2i$v=19$m=19456,t=2,p=1', true],
    ['argon2d$v=19$m=19456,t=2,p=1', true],
  ] as const)
    t.equal(isOutdated(`$${parameters}$${rest}`), outdated, parameters);
});

void t.test(
  'where there is no password one is compared all the same, with the same parameters, and is never right',
  async (t) => {
    const compared: string[] = [];
    const passwords = argon2Passwords(async (hash, password) => {
      compared.push(hash);
      return verify(hash, password);
    });
    const kept = await passwords.hash(PASSWORD);
    t.equal(await passwords.verify(kept, 'another password'), false);
    t.equal(await passwords.verify(undefined, 'another password'), false);
    t.equal(compared.length, 2, 'one comparison each');
    for (const hash of compared) {
      t.match(hash, OF_TODAY);
      t.notOk(passwords.isOutdated(hash));
    }
    const willing = argon2Passwords(async () => true);
    t.equal(
      await willing.verify(undefined, PASSWORD),
      false,
      'whoever found the password of that hash has no account by it',
    );
  },
);

void t.test('two are hashed at once, 64 wait, and whoever comes then is told when to try again', async (t) => {
  let running = 0;
  let most = 0;
  const gates: (() => void)[] = [];
  const passwords = argon2Passwords(async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => void gates.push(resolve));
    running -= 1;
    return true;
  });
  const begun = Array.from({ length: 66 }, () => passwords.verify('kept', PASSWORD));
  await t.rejects(passwords.verify('kept', PASSWORD), {
    code: 'RATE_LIMIT_EXCEEDED',
    message: /Try again in 2 seconds/,
  });
  const all = Promise.all(begun);
  let isDone = false;
  void all.then(() => (isDone = true));
  while (!isDone) {
    gates.shift()?.();
    await new Promise(setImmediate);
  }
  t.equal((await all).length, 66);
  t.equal(most, 2);
});
