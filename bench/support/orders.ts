/** Send calls of the order confirmation with ten items, each with a customer of its own, the same in every run. */
import { readSampleCall } from '../../src/service/samples.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { seeded } from './pairs.js';

const ROWS = 10;
const order = readSampleCall('emails/order-confirmation').variables['order'] as JsonObject;
const names = ['Ceramic mug', 'Pour-over kettle', 'Ethiopia Guji', 'Fish & chips <large>', 'Filter papers'];
const variants = ['Sage green', '0.9 l, matt black', 'Whole beans, 500 g', 'Crème', '100 pieces'];
const firstNames = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Donald', 'Frances', 'Tony', 'Jørgen', 'Niklaus', 'Radia'];
const lastNames = [
  'Example',
  'Hopper',
  'Dijkstra',
  'Liskov',
  'Knuth',
  'Allen',
  'Hoare',
  'Sørensen',
  'Wirth',
  'Perlman',
];

export type OrderRequest = Readonly<{
  templateId: string;
  to: readonly [Readonly<{ email: string; name: string }>];
  variables: JsonObject;
  tags: readonly string[];
}>;

/** In: which order. Out: the body of its send call. */
export const orderRequest = (n: number): OrderRequest => {
  const random = seeded(n + 1);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;
  const [firstName, lastName] = [pick(firstNames), pick(lastNames)];
  const email = `${lastName.toLowerCase().replace('ø', 'o')}.${n}@example.com`;
  const items = Array.from({ length: ROWS }, () => {
    const [at, quantity] = [Math.floor(random() * names.length), 1 + Math.floor(random() * 5)];
    return { name: names[at]!, variant: variants[at]!, quantity, price: Math.round(random() * 20_000) / 100 };
  });
  return {
    templateId: 'order-confirmation',
    to: [{ email, name: `${firstName} ${lastName}` }],
    variables: { customer: { firstName, email }, order: { ...order, number: `NW-${10_000 + n}`, items } },
    tags: ['order'],
  };
};
