/** The leases that processor tests use, against the contract of all. */
import t from 'tap';
import { leaseSuite } from '../../contracts/lease-suite.js';
import { fakeClock } from '../../support/fake-clock.js';
import { leaseKeeper, type LeaseKeeper } from '../../support/memory-leases.js';

const clock = fakeClock();
const keepers = new Map<string, LeaseKeeper>();
leaseSuite(t, {
  open: async (name) => {
    const keeper = keepers.get(name) ?? leaseKeeper(clock);
    keepers.set(name, keeper);
    return keeper.open();
  },
  now: clock.now,
  pass: clock.advance,
});
