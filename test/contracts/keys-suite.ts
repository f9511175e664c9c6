/** What every store of sealing keys must do. */
import type { Test } from 'tap';
import type { Keys } from '../../src/domain/ports/keys.js';

export type KeysHarness = Readonly<{
  /** A client of the keys of that name, under that master key (32 bytes). */
  open: (place: string, masterKey: Buffer) => Promise<Keys>;
  close: () => Promise<void>;
}>;

export const masterKeyA = Buffer.alloc(32, 0xa1);
export const masterKeyB = Buffer.alloc(32, 0xb2);

export const keysSuite = (t: Test, harness: KeysHarness): void => {
  let places = 0;
  const fresh = async (t: Test): Promise<{ keys: Keys; another: (masterKey?: Buffer) => Promise<Keys> }> => {
    places += 1;
    const place = `keys-${places}`;
    const another = async (masterKey: Buffer = masterKeyA): Promise<Keys> => {
      const keys = await harness.open(place, masterKey);
      t.teardown(() => keys.close());
      return keys;
    };
    return { keys: await another(), another };
  };
  t.teardown(() => harness.close());

  void t.test('what a key has sealed it opens, also when it is read again', async (t) => {
    const { keys, another } = await fresh(t);
    const key = await keys.create('email-1');
    for (const plain of [Buffer.alloc(0), Buffer.from('ü'), Buffer.alloc(100_000, 7)]) {
      const sealed = key.seal(plain, 'event-1');
      t.equal(sealed.byteLength, plain.byteLength + 28);
      t.same(key.open(sealed, 'event-1'), plain);
      const again = (await (await another()).getMany(['email-1'])).get('email-1');
      t.same(again?.open(new Uint8Array(sealed), 'event-1'), plain);
    }
    t.notSame(key.seal(Buffer.from('x'), 'c'), key.seal(Buffer.from('x'), 'c'), 'each sealing has its own nonce');
  });

  void t.test('changed bytes, another context and another key open nothing', async (t) => {
    const { keys } = await fresh(t);
    const [one, two] = [await keys.create('email-1'), await keys.create('email-2')];
    const sealed = one.seal(Buffer.from('anna@example.com'), 'event-1');
    t.throws(() => one.open(sealed, 'event-2'));
    t.throws(() => two.open(sealed, 'event-1'));
    for (let index = 0; index < sealed.byteLength; index += 1) {
      const changed = Buffer.from(sealed);
      changed[index] = changed[index]! ^ 1;
      t.throws(() => one.open(changed, 'event-1'), `byte ${index}`);
    }
    for (const length of [0, 5, 27, sealed.byteLength - 1]) t.throws(() => one.open(sealed.subarray(0, length), 'event-1'));
  });

  void t.test('an id has one key, however many ask for it at once, from wherever', async (t) => {
    const { keys, another } = await fresh(t);
    const other = await another();
    const made = await Promise.all(Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? keys : other).create(`email-${index % 20}`)));
    const sealed = made.map((key) => key.seal(Buffer.from('x'), 'c'));
    made.forEach((_, index) => t.same(made[index % 20]?.open(sealed[index]!, 'c'), Buffer.from('x')));
    t.throws(() => made[0]?.open(sealed[1]!, 'c'), 'different ids have different keys');
    t.same((await made[0]!.open(sealed[20]!, 'c')).toString(), 'x');
  });

  void t.test('a destroyed key is gone for every client, the others stay, and repeating is harmless', async (t) => {
    const { keys, another } = await fresh(t);
    const other = await another();
    const ids = Array.from({ length: 50 }, (_, index) => `email-${index}`);
    const made = await Promise.all(ids.map((id) => keys.create(id)));
    const sealed = made.map((key) => key.seal(Buffer.from('x'), 'c'));
    await keys.destroy([...ids.slice(0, 25), 'email-never']);
    await keys.destroy(ids.slice(0, 3));
    await keys.destroy([]);
    for (const client of [keys, other]) {
      const left = await client.getMany(ids);
      t.same([...left.keys()].sort(), ids.slice(25).sort());
      for (const [id, key] of left) t.same(key.open(sealed[ids.indexOf(id)]!, 'c'), Buffer.from('x'));
    }
    const anew = await keys.create('email-0');
    t.throws(() => anew.open(sealed[0]!, 'c'), 'a key made anew is another key');
    t.same([...(await keys.getMany(['email-0', 'email-1', 'email-0'])).keys()], ['email-0']);
    t.equal((await keys.getMany([])).size, 0);
  });

  void t.test('calls are carried out in the order in which they came', async (t) => {
    const { keys } = await fresh(t);
    const first = keys.create('email-1');
    const destroyed = keys.destroy(['email-1']);
    const second = keys.create('email-1');
    await destroyed;
    const sealed = (await first).seal(Buffer.from('x'), 'c');
    const now = (await keys.getMany(['email-1'])).get('email-1');
    t.throws(() => now?.open(sealed, 'c'));
    t.same(now?.open((await second).seal(Buffer.from('y'), 'c'), 'c'), Buffer.from('y'));
  });

  void t.test('a fingerprint depends on the master key, the purpose and the text, and on nothing else', async (t) => {
    const { keys, another } = await fresh(t);
    const mark = keys.fingerprint('suppression', 'anna@example.com');
    t.match(mark, /^[0-9a-f]{64}$/);
    t.equal((await another()).fingerprint('suppression', 'anna@example.com'), mark);
    t.not(keys.fingerprint('suppression', 'anna@example.org'), mark);
    t.not(keys.fingerprint('idempotency', 'anna@example.com'), mark);
    const elsewhere = await fresh(t);
    t.equal(elsewhere.keys.fingerprint('suppression', 'anna@example.com'), mark);
    const underAnotherMaster = await harness.open('keys-of-another-master', masterKeyB);
    t.teardown(() => underAnotherMaster.close());
    t.not(underAnotherMaster.fingerprint('suppression', 'anna@example.com'), mark);
  });

  void t.test('another master key is refused when the keys are opened', async (t) => {
    const { keys, another } = await fresh(t);
    await t.rejects(another(masterKeyB), /master key/);
    await keys.close();
    await t.rejects(another(masterKeyB), /master key/, 'also where no key was ever made');
    await t.rejects(harness.open('keys-short', Buffer.alloc(16)), /32/);
    await (await another()).create('email-1');
  });

  void t.test('what was created and destroyed stays so after closing and opening again', async (t) => {
    const { keys, another } = await fresh(t);
    const sealed = (await keys.create('email-1')).seal(Buffer.from('x'), 'c');
    await keys.create('email-2');
    await keys.destroy(['email-2']);
    await keys.close();
    await t.rejects(keys.create('email-3'));
    const found = await (await another()).getMany(['email-1', 'email-2']);
    t.same([...found.keys()], ['email-1']);
    t.same(found.get('email-1')?.open(sealed, 'c'), Buffer.from('x'));
  });
};
