/** How long what is kept: the settings of each line of the table, and what they may not say together. */
import { ConfigError } from './config-error.js';
import type { Limits } from '../../domain/core/limits.js';
import { integer } from './setting-values.js';
import { settings, type SettingName } from './settings.js';

type Periods = Pick<
  Limits,
  'retentionDays' | 'archiveDays' | 'restoreDays' | 'webhookRecordDays' | 'generatedFileDays' | 'temporaryFileHours' | 'auditDays'
>;

const DAYS_MAX = 3_650;
/** What is being written is never as old. */
const HOURS_MIN = 1;

/** Throws ConfigError. */
export const readRetention = (valueOf: (name: SettingName) => string): Periods => {
  const days = (name: SettingName): number => integer(name, valueOf(name), 1, DAYS_MAX);
  const retentionDays = days('SEALPOST_RETENTION_DAYS');
  const generatedFileDays = days('SEALPOST_RETENTION_GENERATED_FILE_DAYS');
  // The files of an email go with its key; a default contradicts nobody.
  const isDefault = valueOf('SEALPOST_RETENTION_GENERATED_FILE_DAYS') === settings['SEALPOST_RETENTION_GENERATED_FILE_DAYS']?.default;
  if (generatedFileDays > retentionDays && !isDefault) {
    throw new ConfigError(
      `SEALPOST_RETENTION_GENERATED_FILE_DAYS=${generatedFileDays} is longer than SEALPOST_RETENTION_DAYS=${retentionDays}, ` +
        'after which an email is archived and its files are destroyed: set it to that or less.',
    );
  }
  return {
    retentionDays,
    archiveDays: days('SEALPOST_RETENTION_ARCHIVE_DAYS'),
    generatedFileDays,
    restoreDays: days('SEALPOST_RETENTION_DELETED_DAYS'),
    auditDays: days('SEALPOST_RETENTION_AUDIT_DAYS'),
    webhookRecordDays: days('SEALPOST_RETENTION_WEBHOOK_DAYS'),
    temporaryFileHours: integer(
      'SEALPOST_RETENTION_TEMPORARY_FILE_HOURS',
      valueOf('SEALPOST_RETENTION_TEMPORARY_FILE_HOURS'),
      HOURS_MIN,
      24 * DAYS_MAX,
    ),
  };
};
