/** One proof for several leaves gives the root of the whole tree, and no other leaves give it. */
import fc from 'fast-check';
import t from 'tap';
import { chainStart, merkleRoot } from '../../src/event-log/hash-chain.js';
import { merkleProof, rootByProof, type ProvenLeaf } from '../../src/event-log/ledger.js';

const leavesOf = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => chainStart(`leaf ${n}`));

const cases = fc
  .integer({ min: 1, max: 70 })
  .chain((count) => fc.tuple(fc.constant(count), fc.subarray([...Array(count).keys()], { minLength: 1 })));

void t.test('any leaves of any tree', async (t) => {
  fc.assert(
    fc.property(cases, ([count, places]) => {
      const all = leavesOf(count);
      const siblings = merkleProof(all, places);
      const proven = places.map((place): ProvenLeaf => [place, all[place]!]);
      return rootByProof(count, proven, siblings) === merkleRoot(all);
    }),
  );
  t.pass('give the root');
});

void t.test(
  'a leaf that is changed, moved, taken out or added, or a hash too many or too few, gives another root or none',
  async (t) => {
    fc.assert(
      fc.property(
        cases,
        fc.nat(),
        fc.constantFrom('change', 'move', 'drop', 'add', 'more', 'less', 'count'),
        ([count, places], pick, how) => {
          const all = leavesOf(count);
          let siblings = [...merkleProof(all, places)];
          let proven = places.map((place): ProvenLeaf => [place, all[place]!]);
          const at = pick % proven.length;
          let given = count;
          switch (how) {
            case 'change':
              proven[at] = [proven[at]![0], chainStart('another')];
              break;
            case 'move':
              proven[at] = [(proven[at]![0] + 1) % (count + 1), proven[at]![1]];
              break;
            case 'drop':
              proven = proven.filter((_, index) => index !== at);
              break;
            case 'add':
              proven.push([count, chainStart('another')]);
              given = count + 1;
              break;
            case 'more':
              siblings.push(chainStart('another'));
              break;
            case 'less':
              if (siblings.length === 0) return true;
              siblings = siblings.slice(1);
              break;
            case 'count':
              given = count * 2 + 1;
              break;
          }
          return rootByProof(given, proven, siblings) !== merkleRoot(all);
        },
      ),
    );
    t.equal(rootByProof(3, [], []), undefined);
    t.equal(rootByProof(3, [[-1, chainStart('x')]], []), undefined);
  },
);
