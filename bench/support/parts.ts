/** The parts of an email's way through the program, told by the files that a call stack passes. */
import type { PartRule, ProfileReport } from './profile.js';

/** Order matters: the first that fits gives the part. */
export const partRules: readonly PartRule[] = [
  { part: 'render', pattern: /\/src\/(adapters\/render|domain\/rendering)\// },
  { part: 'compose', pattern: /\/src\/domain\/mime\// },
  { part: 'SMTP', pattern: /\/src\/adapters\/mail\/|\/node_modules\/nodemailer\// },
  { part: 'project', pattern: /\/src\/(projections|adapters\/read-models)\// },
  { part: 'gRPC', pattern: /\/node_modules\/(@grpc|google-protobuf|@eventstore)\/|^node:internal\/http2\// },
  { part: 'MongoDB', pattern: /\/node_modules\/(mongodb|bson)\// },
  { part: 'NATS', pattern: /\/node_modules\/nats\// },
  { part: 'Redis', pattern: /\/node_modules\/(ioredis|redis-[a-z]+)\// },
  {
    part: 'append',
    pattern: /\/src\/(event-log\/|adapters\/(event-store|keys|files)\/|adapters\/sqlite\/group-commit\.js)/,
  },
  { part: 'dispatch', pattern: /\/src\/(processors|adapters\/bus|domain\/email)\/|\/node_modules\/rxjs\// },
  {
    part: 'accept',
    pattern:
      /\/src\/(http|commands|domain\/(keys|teams|templates|mime))\/|\/src\/adapters\/limiter\/|\/node_modules\/(fastify|@fastify|find-my-way|fast-json-stringify)\/|^node:_http/,
  },
];

/**
 * In: a profile, and the CPU of one operation. Out: lines for people, parts first, then the functions that cost most.
 */
export const describeProfile = (
  { parts, functions }: ProfileReport,
  cpuUs: number,
  functionsShown = 25,
): readonly string[] => [
  ...parts.map(
    ({ what, share }) =>
      `  ${what.padEnd(20)} ${(share * 100).toFixed(1).padStart(5)} %  ${(share * cpuUs).toFixed(0).padStart(5)} µs`,
  ),
  '  functions by self time:',
  ...functions
    .slice(0, functionsShown)
    .map(({ what, share }) => `  ${(share * 100).toFixed(1).padStart(5)} %  ${what}`),
];
