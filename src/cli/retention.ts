/** `sealpost retention`: how long what is kept, and with `--dry-run` what would go now; nothing is changed. */
import { readConfig } from '../service/settings/config.js';
import { readRetentionLines, retentionTable } from '../projections/retention/retention.js';
import { print } from './core/output.js';
import { withTeam } from './core/engine.js';

export type RetentionOptions = Readonly<{ dryRun?: boolean; json?: boolean }>;

export const retention = async ({ dryRun = false, json = false }: RetentionOptions): Promise<void> => {
  if (dryRun) return withTeam(async (engine) => show(await readRetentionLines(engine, engine.clock.now()), json, dueColumns));
  return show(retentionTable(readConfig().limits), json, tableColumns);
};

type Cells = Readonly<Record<string, string | number | null>>;

/** The title of each column by the field that it shows. */
const tableColumns = { what: 'what', period: 'kept', setting: 'setting' };
const dueColumns = { what: 'what', due: 'would go now', oldest: 'due since', next: 'next' };

const show = (lines: readonly Cells[], json: boolean, columns: Readonly<Record<string, string>>): void => {
  if (json) return print(JSON.stringify(lines));
  const fields = Object.keys(columns);
  const rows = [Object.values(columns), ...lines.map((line) => fields.map((field) => String(line[field] ?? '-')))];
  const widths = fields.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const row of rows)
    print(
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    );
};
