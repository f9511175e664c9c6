/** When the log of a data directory was last verified and backed up, for the operator's view; kept beside the data. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type, type Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { systemClock } from '../../adapters/clock/system.js';
import { isoTime } from '../../domain/core/time.js';
import { replaceDurably } from '../../shared/files.js';
import type { Config } from '../settings/config.js';
import type { Backup } from './backup.js';

const DoneSchema = Type.Object({
  verify: Type.Optional(
    Type.Object({
      at: Type.String(),
      result: Type.Union(
        (['sound', 'damaged', 'tampered', 'unfinished'] as const).map((result) => Type.Literal(result)),
      ),
    }),
  ),
  log: Type.Optional(Type.Object({ at: Type.String(), position: Type.Integer() })),
  keys: Type.Optional(Type.Object({ at: Type.String(), position: Type.Integer(), expiresAt: Type.String() })),
});

/** `position`: up to where the copy has the log, or knows it. */
export type Done = Static<typeof DoneSchema>;

const fileOf = (dataDir: string): string => join(dataDir, 'done.json');

/** Nothing where the file is missing or cannot be understood. */
export const readDone = (dataDir: string): Done => {
  try {
    const file = fileOf(dataDir);
    const value: unknown = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
    return Value.Check(DoneSchema, value) ? value : {};
  } catch {
    return {};
  }
};

/** Notes that the log was verified now. */
export const noteVerified = (
  { dataDir }: Pick<Config, 'dataDir'>,
  result: NonNullable<Done['verify']>['result'],
): void => note(dataDir, { verify: { at: isoTime(systemClock().now()), result } });

export const noteBackup = (
  { dataDir }: Pick<Config, 'dataDir'>,
  { kind, at, expiresAt, note: newest }: Backup,
): void => {
  const position = newest?.position ?? 0;
  note(dataDir, kind === 'log' ? { log: { at, position } } : { keys: { at, position, expiresAt: expiresAt ?? at } });
};

/** A directory that cannot be written keeps what it has: it was verified or copied all the same. */
const note = (dataDir: string, done: Done): void => {
  try {
    replaceDurably(fileOf(dataDir), `${JSON.stringify({ ...readDone(dataDir), ...done })}\n`);
  } catch {
    return;
  }
};
