/**
 * Which test files run only in `npm run test:all`, and which may cost more CPU than others. `npm test` runs every other
 * file, on a plain machine. Names are those of files in test/ without `.test.ts`; one with a slash at its end is a
 * folder.
 */

/** `why`: what the files need or do that `npm test` does not wait for. */
export type Left = Readonly<{ why: string; files: readonly string[] }>;

export const onlyInAll: readonly Left[] = [
  {
    why: 'real servers: NATS, Redis, MongoDB, EventStoreDB or its stand-in behind the real client',
    files: [
      'adapters/bus/nats',
      'adapters/event-store/eventstoredb',
      'adapters/files/gridfs',
      'adapters/keys/mongodb',
      'adapters/lease/mongodb',
      'adapters/limiter/redis',
      'adapters/mongodb/client',
      'adapters/processes/processes',
      'adapters/read-models/mongodb',
      'adapters/read-models/mongodb-faults',
      'adapters/read-models/mongodb-search',
      'adapters/read-models/mongodb-writers',
      'adapters/request-log/request-log',
      'analytics/projections-mongodb',
      'audit/projections-mongodb',
      'bulk/projections-batches-mongodb',
      'cli/parked',
      'core/projections-queries-mongodb',
      'core/projections-runner-mongodb',
      'domains/projections-sender-domains-mongodb',
      'e2e/bus-lost',
      'e2e/engine-distributed',
      'e2e/engine-mixes',
      'e2e/people-engines',
      'e2e/six-years',
      'email/projections-emails-mongodb',
      'email/projections-summaries-mongodb',
      'people/projections-sessions-mongodb',
      'support/servers',
      'templates/projections-assets-mongodb',
    ],
  },
  {
    why: 'kills of real processes',
    files: [
      'e2e/erasure-kill',
      'e2e/first-start-kill',
      'e2e/kill',
      'e2e/kill-bulk',
      'e2e/kill-removal',
      'e2e/stop-output',
    ],
  },
  { why: 'programs of faults, in their short form', files: ['faults/'] },
  { why: 'random histories', files: ['hunt/'] },
  {
    why: 'whole data directories that are damaged, mixed, moved, restored or searched byte by byte',
    files: [
      'e2e/archive',
      'e2e/approvals-kill',
      'e2e/backup',
      'e2e/copies',
      'e2e/damaged',
      'e2e/disk',
      'e2e/doctor',
      'e2e/erased-recipients',
      'e2e/erased-user',
      'e2e/migrate',
      'e2e/side-by-side',
      'e2e/stop',
      'e2e/stores',
      'e2e/tampering',
      'e2e/verify',
    ],
  },
  {
    why: "other people's programs: browsers, spreadsheets, a relay, parsers, receivers in other languages, other runtimes",
    files: [
      'adapters/render/excel/libreoffice',
      'adapters/render/excel/looks',
      'adapters/render/golden-pictures',
      'dashboard/acts',
      'dashboard/approvals',
      'dashboard/emails',
      'dashboard/prefix',
      'dashboard/keys',
      'dashboard/overview',
      'dashboard/pages',
      'dashboard/email',
      'dashboard/sign-in',
      'dashboard/start',
      'dashboard/webhooks',
      'e2e/generated-client',
      'e2e/other-nodes',
      'e2e/postfix',
      'e2e/vps',
      'e2e/webhook-receivers',
      'release/package',
      'sdk/runtimes',
      'site/guide',
    ],
  },
  { why: 'the largest documents that are taken', files: ['e2e/largest-documents'] },
];

/** Files that read the documentation site as it is built. They run last. */
const READ_GUIDE = ['release/package', 'site/'];

/** Files that count what depends on the load of the machine. They run when all others have ended. */
export const ALONE: readonly string[] = ['service/counted-work'];

/** The run names each file that took more CPU seconds than these and is not among `dear`. */
export const CPU_SECONDS_MAX = 60;

/** Files that may cost more, and why they are worth it. */
export const dear: Readonly<Record<string, string>> = {
  'e2e/other-nodes': 'runs four files of tests on each of two other versions of Node',
  'e2e/stores': 'each case starts the program on a data directory whose stores do not belong together',
  'release/package': 'installs the package of a release and runs it with three versions of Node and as an image',
  'hunt/plants': 'shows for each oracle of the hunt that it finds its planted fault',
};

const isAmong = (files: readonly string[], name: string): boolean =>
  files.some((file) => (file.endsWith('/') ? name.startsWith(file) : name === file));

export const isOnlyInAll = (name: string): boolean => onlyInAll.some(({ files }) => isAmong(files, name));

export const runsAlone = (name: string): boolean => isAmong(ALONE, name);

export const readsGuide = (name: string): boolean => isAmong(READ_GUIDE, name);

/** In: the path of a built test, `build/test/e2e/kill.test.js`. Out: its name. */
export const nameOfTest = (file: string): string =>
  file.replaceAll('\\', '/').replace(/^build\/test\/|\.test\.js$/g, '');
