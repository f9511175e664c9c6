/** The contract of every store of sealing keys. */
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
    const { id, key } = await keys.create();
    for (const plain of [Buffer.alloc(0), Buffer.from('ü'), Buffer.alloc(100_000, 7)]) {
      const sealed = key.seal(plain, 'event-1');
      t.equal(sealed.byteLength, plain.byteLength + 28);
      t.same(key.open(sealed, 'event-1'), plain);
      const again = (await (await another()).getMany([id])).get(id);
      t.same(again?.open(new Uint8Array(sealed), 'event-1'), plain);
    }
    t.notSame(key.seal(Buffer.from('x'), 'c'), key.seal(Buffer.from('x'), 'c'), 'each sealing has its own nonce');
  });

  void t.test('changed bytes, another context and another key open nothing', async (t) => {
    const { keys } = await fresh(t);
    const [one, two] = [(await keys.create()).key, (await keys.create()).key];
    const sealed = one.seal(Buffer.from('anna@example.com'), 'event-1');
    t.throws(() => one.open(sealed, 'event-2'));
    t.throws(() => two.open(sealed, 'event-1'));
    for (let index = 0; index < sealed.byteLength; index += 1) {
      const changed = Buffer.from(sealed);
      changed[index] = changed[index]! ^ 1;
      t.throws(() => one.open(changed, 'event-1'), `byte ${index}`);
    }
    for (const length of [0, 5, 27, sealed.byteLength - 1])
      t.throws(() => one.open(sealed.subarray(0, length), 'event-1'));
  });

  void t.test('each call is given a key and an id of its own, however many ask at once, from wherever', async (t) => {
    const { keys, another } = await fresh(t);
    const other = await another();
    const made = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => (index % 2 === 0 ? keys : other).create()),
    );
    t.equal(new Set(made.map(({ id }) => id)).size, made.length);
    const sealed = made.map(({ key }) => key.seal(Buffer.from('x'), 'c'));
    made.forEach((_, index) => t.throws(() => made[(index + 1) % made.length]!.key.open(sealed[index]!, 'c')));
    const found = await (await another()).getMany(made.map(({ id }) => id));
    t.ok(
      made.every(({ id }, index) => found.get(id)?.open(sealed[index]!, 'c').toString() === 'x'),
      'each is found under its id',
    );
  });

  void t.test('a destroyed key is gone for every client, the others stay, and repeating is harmless', async (t) => {
    const { keys, another } = await fresh(t);
    const other = await another();
    const made = await Promise.all(Array.from({ length: 300 }, () => keys.create()));
    const ids = made.map(({ id }) => id);
    const sealed = made.map(({ key }) => key.seal(Buffer.from('x'), 'c'));
    const never = ['', 'never', '1', '999999.1', '1.999', '-1.0', '1.-1', '1e3.1', '01.0', '1.00'];
    const { journalMs } = await keys.destroy([...ids.slice(0, 150), ...never]);
    t.ok(Number.isFinite(journalMs) && journalMs >= 0, 'it says how long the journal holds what was destroyed');
    await keys.destroy(ids.slice(0, 3));
    await keys.destroy([]);
    for (const client of [keys, other]) {
      const left = await client.getMany(ids);
      t.same([...left.keys()].sort(), ids.slice(150).sort());
      for (const [id, key] of left) t.same(key.open(sealed[ids.indexOf(id)]!, 'c'), Buffer.from('x'));
    }
    const later = await Promise.all(Array.from({ length: 300 }, () => keys.create()));
    t.notOk(
      later.some(({ id }) => ids.includes(id)),
      'an id never comes again',
    );
    t.same([...(await keys.getMany([ids[0]!, ids[299]!, ids[299]!, ...never])).keys()], [ids[299]]);
    t.equal((await keys.getMany([])).size, 0);
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
    await (await another()).create();
  });

  void t.test('what was created and destroyed stays so after closing and opening again', async (t) => {
    const { keys, another } = await fresh(t);
    const [kept, gone] = [await keys.create(), await keys.create()];
    const sealed = kept.key.seal(Buffer.from('x'), 'c');
    await keys.destroy([gone.id]);
    await keys.close();
    await t.rejects(async () => keys.create());
    const reopened = await another();
    const found = await reopened.getMany([kept.id, gone.id]);
    t.same([...found.keys()], [kept.id]);
    t.same(found.get(kept.id)?.open(sealed, 'c'), Buffer.from('x'));
    t.notOk(
      [kept.id, gone.id].includes((await reopened.create()).id),
      'what was made ahead before is not given out again',
    );
  });

  void t.test('a mark that is set is there for every client, and after opening again', async (t) => {
    const { keys, another } = await fresh(t);
    t.equal(await keys.mark(), undefined);
    await keys.setMark({ position: 7, hash: 'aa' });
    t.same(await (await another()).mark(), { position: 7, hash: 'aa' });
    await keys.setMark({ position: 9, hash: 'bb' });
    await keys.close();
    t.same(await (await another()).mark(), { position: 9, hash: 'bb' });
  });
};
