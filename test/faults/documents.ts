/** The heavy documents of one team beside a small one of another: the small one waits for none of them. */
import { systemClock } from '../../src/adapters/clock/system.js';
import { openLogger } from '../../src/adapters/logger/pino.js';
import { openGenerator } from '../../src/adapters/render/workers/generator.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import type { TeamId } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { DocumentInput, Generator } from '../../src/domain/ports/generator.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { attachmentOf } from '../support/documents.js';
import { environment } from '../support/rendering.js';
import { teamA, teamB } from '../support/teams.js';
import type { FaultReport, ProgramOptions } from './report.js';

const HEAVY = 12;
/** Nearly as many as a PDF has pages for. */
const HEAVY_ROWS = 800;
const SMALL = 5;
/** A small document may take so many times as long as alone. */
const TIMES_MAX = 2;
/** Tolerance of the measurement: one time slice of the system's scheduler is longer than some of these documents. */
const SLACK_MS = 50;

const inputOf = (teamId: TeamId, cacheKey: string, component: unknown, variables: JsonObject = {}): DocumentInput => {
  const definitions = [{ name: 'rows', type: 'array' }];
  const template = attachmentOf([component], { variables: definitions, schema: { outputFormats: ['pdf'] } });
  return {
    teamId,
    cacheKey,
    content: checkAttachmentTemplate(template, defaultLimits).content,
    variables,
    environment,
  };
};

const small = inputOf(teamB, 'small', { id: 'line', type: 'rich-text', content: '<p>One line</p>' });
const columns = ['a', 'b', 'c'].map((name) => ({ header: name, content: `<b>{{item.${name}}}</b>` }));
const heavy = inputOf(
  teamA,
  'heavy',
  { id: 'table', type: 'table', props: { dataSource: 'rows', columns } },
  {
    rows: Array.from({ length: HEAVY_ROWS }, (_, at) => ({ a: `row ${at}`, b: 'text in bold', c: 'some more of it' })),
  },
);

const metadata = { title: 'Test', author: 'sealpost', createdAt: '2026-11-21T10:00:00.000Z' };
const make = (generator: Generator, input: DocumentInput): Promise<unknown> =>
  generator.make(input, 'pdf', new Map(), metadata, new AbortController().signal).then(({ bytes }) => bytes);

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const begunMs = performance.now();
  await work();
  return performance.now() - begunMs;
};

/** The middle one of several, one after the other. */
const medianMs = async (generator: Generator): Promise<number> => {
  const all: number[] = [];
  for (let count = 0; count < SMALL; count += 1) all.push(await timed(() => make(generator, small)));
  return all.sort((a, b) => a - b)[Math.floor(SMALL / 2)]!;
};

/** Each round: a small document alone, then beside the heavy ones. */
export const documentsTest = async ({ rounds, print }: ProgramOptions): Promise<FaultReport> => {
  const generator = openGenerator({
    limits: defaultLimits,
    clock: systemClock(),
    logger: openLogger({ level: 'silent' }),
    cores: 2,
  });
  const faults: string[] = [];
  const counts = { 'small documents': 0, 'heavy documents': 0, 'alone at most, ms': 0, 'beside at most, ms': 0 };
  try {
    // Both processes have loaded their fonts before anything is measured.
    await Promise.all([make(generator, small), make(generator, heavy)]);
    for (let round = 1; round <= rounds; round += 1) {
      const aloneMs = await medianMs(generator);
      const heavyOnes = Array.from({ length: HEAVY }, () => make(generator, heavy));
      const besideMs = await medianMs(generator);
      await Promise.all(heavyOnes);
      counts['small documents'] += 2 * SMALL;
      counts['heavy documents'] += HEAVY;
      counts['alone at most, ms'] = Math.max(counts['alone at most, ms'], Math.round(aloneMs));
      counts['beside at most, ms'] = Math.max(counts['beside at most, ms'], Math.round(besideMs));
      if (besideMs > TIMES_MAX * aloneMs + SLACK_MS)
        faults.push(
          `round ${round}: a small document takes ${besideMs.toFixed(0)} ms beside heavy ones, ${aloneMs.toFixed(0)} ms alone`,
        );
      print(`  round ${round}: ${aloneMs.toFixed(0)} ms alone, ${besideMs.toFixed(0)} ms beside`);
    }
  } finally {
    await generator.close();
  }
  return { counts, faults };
};
