/** Gathering: lanes that come along together go on together, few wait for nobody, and nobody is forgotten. */
import t from 'tap';
import { openGather } from '../../src/processors/gather.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const BUSY = 64;

void t.test('where few are at work nobody waits', async (t) => {
  const { together } = openGather();
  let turned = false;
  setImmediate(() => (turned = true));
  for (const busy of [0, 1, 2, 3]) await together(busy);
  t.equal(turned, false);
});

void t.test('who comes within some turns goes on in the same one', async (t) => {
  const { together } = openGather();
  const gone: number[] = [];
  let turns = 0;
  for (let index = 0; index < 3; index += 1) {
    void together(BUSY).then(() => gone.push(turns));
    await turn();
    turns += 1;
  }
  while (gone.length < 3) {
    await turn();
    turns += 1;
    if (turns > 100) throw new Error('somebody waits for ever');
  }
  t.equal(new Set(gone).size, 1);
  t.ok(gone[0]! < 20, 'soon');
});

void t.test('when enough have come they go on at once, and those after them are a group of their own', async (t) => {
  const { together } = openGather();
  let early = 0;
  let turned = false;
  setImmediate(() => (turned = true));
  await Promise.all(Array.from({ length: 32 }, () => together(BUSY).then(() => (early += turned ? 0 : 1))));
  t.equal(early, 32);
  let late = 0;
  void together(BUSY).then(() => (late += 1));
  for (let turns = 0; late === 0 && turns < 100; turns += 1) await turn();
  t.equal(late, 1);
});

void t.test('whatever the numbers, all go on', async (t) => {
  const { together } = openGather();
  let gone = 0;
  for (let round = 0; round < 200; round += 1) {
    for (let come = 0; come < round % 7; come += 1) void together(4 + (round % 61)).then(() => (gone += 1));
    if (round % 3 === 0) await turn();
  }
  const come = Array.from({ length: 200 }, (_, round) => round % 7).reduce((sum, count) => sum + count, 0);
  for (let turns = 0; gone < come && turns < 100; turns += 1) await turn();
  t.equal(gone, come);
});
