/** The page of performance: its tables and its chart, out of the results of the benchmarks. */
import type { Figure } from './results.js';

/** The results by benchmark: their figures, and the machine. */
export type Published = Readonly<
  Record<
    string,
    Readonly<{ figures: readonly Figure[]; machine: Readonly<Record<string, string>>; measuredAt: string }>
  >
>;

/** Work of an email by kind, as bench/counts.json has it. */
export type Counted = Readonly<{ send: Readonly<Record<string, number>> }>;

const figureOf = (published: Published, bench: string, what: string): Figure | undefined =>
  published[bench]?.figures.find((figure) => figure.what === what);
const valueOf = (published: Published, bench: string, what: string): number | undefined =>
  figureOf(published, bench, what)?.value;

const grouped = (value: number, digits = 0): string =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
const us = (value: number): string => `${grouped(value)} µs`;
const megabytes = (value: number): string => `${grouped(value)} MB`;
const duration = (ms: number): string => (ms >= 1_000 ? `${(ms / 1_000).toFixed(1)} s` : `${ms.toFixed(0)} ms`);

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells, at) => (at === 1 ? `|${cells.join('|')}|` : `| ${cells.join(' | ')} |`))
    .join('\n');

const EMAILS = 100_000;

const example = (published: Published): string => {
  const [cpuUs, bytes, memory, size] = [
    valueOf(published, 'peers', 'ours'),
    valueOf(published, 'storage', 'an email in all files'),
    valueOf(published, 'memory', 'idle'),
    valueOf(published, 'peers', 'size of our mail'),
  ];
  if (cpuUs === undefined || bytes === undefined || size === undefined) return '';
  return [
    `A shop sends ${grouped(EMAILS)} order confirmations a month. Each has ten items and ${grouped(size / 1_000)} KB.`,
    `For all of them sealpost needs ${grouped((cpuUs * EMAILS) / 60e6, 1)} minutes of one core and ${megabytes((bytes * EMAILS) / 1e6)} of disk.`,
    ...(memory === undefined ? [] : [`Between the emails the service takes ${megabytes(memory)} of memory.`]),
  ].join('\n');
};

/** Rows of the table of CPU time: the label, the result, its figures, and the name of the other program. */
const comparisons = [
  ['accept the call durably', 'accept', 'ours', 'limit', 'ours / limit', 'the smallest program that does this'],
  ['render the mail', 'render', 'ours', 'limit', 'ours / limit', 'the same mail written by hand in Eta'],
  [
    'the whole way',
    'peers',
    'ours',
    'peer, appendfsync always',
    'ours / peer',
    'the usual stack, Redis syncs every write',
  ],
  [
    'the whole way',
    'peers',
    'ours',
    'peer, appendfsync everysec',
    'ours / peer, everysec',
    'the usual stack, Redis syncs once a second',
  ],
  ['the whole way', 'end-to-end', 'ours', 'limit', 'ours / limit', 'nodemailer, which only sends a finished mail'],
  ['the whole way, signed with RSA-2048', 'dkim', 'ours', 'limit', 'ours / limit', 'nodemailer, which sends and signs'],
  [
    'the whole way, one email of a bulk send',
    'bulk',
    '100 batches queued at once',
    'single sends',
    'bulk / single',
    'a single send of the same mail',
  ],
  [
    'the whole way, on the distributed engine',
    'distributed',
    'ours',
    'embedded engine',
    'distributed / embedded',
    'sealpost on the embedded engine',
  ],
] as const;

const cpu = (published: Published): string =>
  table(
    ['sealpost does this', 'CPU of an email', 'compared with', 'CPU of an email', 'ratio'],
    comparisons.flatMap(([label, bench, own, other, ratio, name]) => {
      const [a, b, r] = [own, other, ratio].map((what) => figureOf(published, bench, what));
      if (a === undefined || b === undefined || r === undefined) return [];
      const band =
        r.low === undefined || r.high === undefined || r.low === r.high
          ? ''
          : ` (${r.low.toFixed(2)} to ${r.high.toFixed(2)})`;
      return [
        [
          label,
          us(a.value),
          name,
          us(b.value),
          `${r.value.toFixed(2)}${band}${r.counts === false ? ', not decided' : ''}`,
        ],
      ];
    }),
  );

const memory = (published: Published): string => {
  const rows = [
    ['at rest', 'memory', 'idle'],
    [
      '100,000 emails wait because the relay does not answer, highest value',
      'memory',
      '100000 queued, relay mute: peak',
    ],
  ] as const;
  const times = [
    ['first start with a new data directory, until the service listens', 'first start to listening'],
    ['each further start', 'next start to listening'],
    ['`npx sealpost --help`', '--help'],
    ['`node -e 0`, for comparison', 'a Node that does nothing'],
  ] as const;
  return table(
    ['', 'measured'],
    [
      ...rows.flatMap(([label, bench, what]) => {
        const value = valueOf(published, bench, what);
        return value === undefined ? [] : [[label, megabytes(value)]];
      }),
      ...times.flatMap(([label, what]) => {
        const figure = figureOf(published, 'start', what);
        return figure === undefined || figure.counts === false ? [] : [[label, duration(figure.value)]];
      }),
    ],
  );
};

const PACKAGE_MB_MIN = 3;

const packages = (published: Published): string =>
  table(
    ['package', 'memory', 'CPU of loading it', 'loaded by a service at rest'],
    (published['memory-by-package']?.figures ?? []).flatMap(({ what, value, note = '' }) => {
      const [, cpuMs] = /^\s*(\d+) ms of CPU/.exec(note) ?? [];
      if (cpuMs === undefined || value < PACKAGE_MB_MIN) return [];
      return [[what, megabytes(value), `${cpuMs} ms`, note.includes('loaded at rest') ? 'yes' : 'no']];
    }),
  );

const disk = (published: Published): string =>
  table(
    ['file', 'bytes of an email'],
    (
      [
        ['`events.db`, the log', 'of it the log'],
        ['`documents.….db`, the read models', 'of it read models'],
        ['`keys.db`', 'of it keys'],
        ['all files', 'an email in all files'],
        ['for comparison: the body of the call', 'the body of a send call'],
      ] as const
    ).flatMap(([label, what]) => {
      const value = valueOf(published, 'storage', what);
      return value === undefined ? [] : [[label, grouped(value)]];
    }),
  );

const work = (counted: Counted): string =>
  table(
    ['work', 'for each email'],
    (
      [
        ['SQL statements that write to the log', 'SQL writes, log'],
        ['SQL statements that write to read models', 'SQL writes, read models'],
        ['bytes that the log stores', 'bytes written, log'],
        ['JSON texts written', 'JSON texts written'],
        ['hashes', 'hashes'],
        ['encryptions and decryptions', 'ciphers'],
        ['writes to the connection of the relay', 'SMTP writes'],
        ['bytes of memory allocated and freed', 'bytes allocated'],
      ] as const
    ).flatMap(([label, kind]) => {
      const value = counted.send[kind];
      return value === undefined ? [] : [[label, value >= 100 ? grouped(value) : String(value)]];
    }),
  );

const machine = (published: Published): string => {
  const results = Object.values(published).toSorted((a, b) => a.measuredAt.localeCompare(b.measuredAt));
  const last = results.findLast((result) => result.machine['fsync'] !== undefined) ?? results.at(-1);
  if (last === undefined) return '';
  const [from = '', to = ''] = [results[0], results.at(-1)].map((result) => result?.measuredAt.slice(0, 10));
  const undecided = results.some(({ figures }) => figures.some(({ counts }) => counts === false));
  const rows = [
    ['processor', last.machine['cpu']],
    ['memory', last.machine['memory']],
    ['system', last.machine['kernel']],
    ['file system', last.machine['filesystem']],
    ['a write and its `fdatasync`, in ms', last.machine['fdatasyncMs']],
    ['Node', last.machine['node']],
    ['commit', last.machine['commit']?.slice(0, 8)],
    ['measured', from === to ? from : `${from} to ${to}`],
  ];
  return [
    table(
      ['', 'these figures'],
      rows.flatMap(([label = '', value]) => (value === undefined ? [] : [[label, value]])),
    ),
    ...(undecided
      ? [
          '\nA ratio is not decided if other programs ran on the machine, so that equal programs differed by more than 7 %.',
        ]
      : []),
  ].join('\n');
};

/** In: the page. Out: the page with what the results say between the marks; the text around them stays. */
export const writePage = (page: string, published: Published, counted: Counted): string => {
  const blocks: Readonly<Record<string, string>> = {
    example: example(published),
    cpu: cpu(published),
    memory: memory(published),
    packages: packages(published),
    disk: disk(published),
    work: work(counted),
    machine: machine(published),
  };
  const seen = new Set<string>();
  const written = page.replace(
    /<!-- measured: (\w+) -->\n.*?<!-- end -->/gs,
    (whole, name: string) => (seen.add(name), `<!-- measured: ${name} -->\n\n${blocks[name] ?? whole}\n\n<!-- end -->`),
  );
  const missing = Object.keys(blocks).filter((name) => !seen.has(name));
  if (missing.length > 0) throw new Error(`the page has no place for ${missing.join(', ')}`);
  return written;
};

type Bar = Readonly<{ label: string; note: string; own: boolean; segments: readonly number[] }>;

const barsOf = (published: Published): readonly Bar[] => {
  const peers = published['peers']?.figures ?? [];
  const redis = peers.filter(({ what }) => what === 'of it Redis').map(({ value }) => value);
  const stack = (note: string, what: string, at: number): readonly Bar[] => {
    const [all, part] = [valueOf(published, 'peers', what), redis[at]];
    if (all === undefined || part === undefined) return [];
    return [{ label: 'Fastify, BullMQ, Eta, nodemailer', note, own: false, segments: [all - part, part] }];
  };
  const [ours, pool] = [valueOf(published, 'peers', 'ours'), valueOf(published, 'end-to-end', 'limit')];
  return [
    ...(ours === undefined
      ? []
      : [{ label: 'sealpost', note: 'accept, store, render, send, record', own: true, segments: [ours] }]),
    ...stack('Redis syncs every write', 'peer, appendfsync always', 0),
    ...stack('Redis syncs once a second', 'peer, appendfsync everysec', 1),
    ...(pool === undefined
      ? []
      : [{ label: 'nodemailer alone', note: 'sends a finished mail', own: false, segments: [pool] }]),
  ];
};

const WIDTH = 760;
const LEFT = 276;
const RIGHT = 96;
const TOP = 74;
const ROW = 54;
const BAR = 26;

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** The chart of the page: CPU of an email as bars. It has a ground of its own, so that it can be read on any page. */
export const drawChart = (published: Published): string => {
  const bars = barsOf(published);
  const longest = Math.max(...bars.map(({ segments }) => segments.reduce((sum, value) => sum + value, 0)));
  const scale = (WIDTH - LEFT - RIGHT) / longest;
  const height = TOP + bars.length * ROW + 44;
  const rows = bars.map(({ label, note, own, segments }, at) => {
    const y = TOP + at * ROW;
    let x = LEFT;
    const parts = segments.map((value, segment) => {
      const width = value * scale;
      const rect = `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" class="${own ? 'own' : segment === 0 ? 'other' : 'redis'}"/>`;
      x += width;
      return rect;
    });
    const total = segments.reduce((sum, value) => sum + value, 0);
    return [
      `<text x="${LEFT - 12}" y="${y + 12}" text-anchor="end" class="label">${escaped(label)}</text>`,
      `<text x="${LEFT - 12}" y="${y + 28}" text-anchor="end" class="note">${escaped(note)}</text>`,
      ...parts,
      `<text x="${(x + 8).toFixed(1)}" y="${y + 18}" class="label">${escaped(us(total))}</text>`,
    ].join('\n  ');
  });
  const said = bars
    .map(({ label, note, segments }) => `${label} (${note}) ${us(segments.reduce((sum, value) => sum + value, 0))}`)
    .join('; ');
  const legend = bars.some(({ segments }) => segments.length > 1)
    ? `\n  <rect x="${LEFT}" y="${height - 34}" width="12" height="12" class="redis"/>\n  <text x="${LEFT + 18}" y="${height - 24}" class="note">of this: the Redis server</text>`
    : '';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title desc">
  <title id="title">CPU time of one email</title>
  <desc id="desc">${escaped(said)}</desc>
  <style>
    text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1f2937 }
    .ground { fill: #ffffff; stroke: #d1d5db }
    .head { font-size: 17px; font-weight: 600 }
    .label { font-size: 13px; font-weight: 600 }
    .note { font-size: 12px; fill: #4b5563 }
    .own { fill: #0f766e }
    .other { fill: #94a3b8 }
    .redis { fill: #c2410c }
    @media (prefers-color-scheme: dark) {
      text { fill: #e5e7eb }
      .ground { fill: #161b22; stroke: #30363d }
      .note { fill: #9ca3af }
      .own { fill: #2dd4bf }
      .other { fill: #64748b }
      .redis { fill: #fb923c }
    }
  </style>
  <rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8" class="ground"/>
  <text x="24" y="34" class="head">CPU time of one email, from the call to the relay</text>
  <text x="24" y="54" class="note">order confirmation with ten items; less is better</text>
  ${rows.join('\n  ')}${legend}
</svg>
`;
};
