/** Looks for the first history in which each planted fault is found, and prints the table of README.md. */
import { foundingWorld } from './founding.js';
import { playHistory } from './history.js';
import { plants } from './plants.js';

const HISTORIES_MAX = 2_000;
process.on('unhandledRejection', () => {});

const base = await foundingWorld();
console.log(
  '| Planted fault | Seed | Histories until then | What broke | In the words of the hunt |\n|---|---|---|---|---|',
);
const only = process.argv[2];
for (const [name, plant] of Object.entries(plants)) {
  if (only !== undefined && only !== name) continue;
  let row = 'not found | – | – | –';
  for (let seed = 1; seed <= HISTORIES_MAX; seed += 1) {
    const { findings } = await playHistory(base, seed, plant);
    const [first] = findings;
    if (first === undefined || (await playHistory(base, seed)).findings.length > 0) continue;
    row = `${seed} | ${seed} | ${first.oracle} | ${first.message.slice(0, 110).replaceAll('|', '/')} |`;
    break;
  }
  console.log(`| ${name} | ${row}`);
}
