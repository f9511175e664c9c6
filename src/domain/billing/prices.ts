/** What blocks of credits cost. Money is whole cents of US dollars. */

export const CREDITS_PER_BLOCK = 10_000;
export const SIGNUP_CREDITS = 1_000;
/** The most that one purchase or one grant may add. */
export const BLOCKS_MAX = 100_000;
export const CURRENCY = 'USD';

/** A price for the blocks of one purchase up to and including the number `upTo`; the last has no end. */
export type PriceTier = Readonly<{ name: string; upTo: number; unitCents: number }>;

export const priceTiers: readonly PriceTier[] = [
  { name: 'Starter', upTo: 5, unitCents: 3_000 },
  { name: 'Growth', upTo: 10, unitCents: 2_400 },
  { name: 'Business', upTo: 50, unitCents: 2_100 },
  { name: 'Scale', upTo: 100, unitCents: 1_800 },
  { name: 'Enterprise', upTo: Infinity, unitCents: 1_500 },
];

export type Price = Readonly<{ credits: number; priceCents: number; tiers: readonly Readonly<{ blocks: number; unitCents: number }>[] }>;

/** Graduated per purchase: each block at the price of its own place, so 7 blocks are five of the first tier and two of the second. */
export const priceOf = (blocks: number): Price => {
  const tiers: { blocks: number; unitCents: number }[] = [];
  let before = 0;
  for (const { upTo, unitCents } of priceTiers) {
    const within = Math.min(blocks, upTo) - before;
    if (within <= 0) break;
    tiers.push({ blocks: within, unitCents });
    before += within;
  }
  const priceCents = tiers.reduce((sum, tier) => sum + tier.blocks * tier.unitCents, 0);
  return { credits: blocks * CREDITS_PER_BLOCK, priceCents, tiers };
};
