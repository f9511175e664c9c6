/** Writes the suppression list as a table (CSV, RFC 4180), some at a time. */
import type { SuppressionRecord } from '../../api/recipients.js';
import type { SuppressionId } from '../../domain/core/ids.js';

const columns: (keyof SuppressionRecord)[] = ['email', 'list', 'reason', 'createdAt', 'emailId', 'id'];

/** `read`: the records of some ids. They are read when the text of those before is taken. */
export async function* suppressionLines(
  pages: AsyncIterable<readonly SuppressionId[]>,
  read: (ids: readonly SuppressionId[]) => Promise<readonly SuppressionRecord[]>,
): AsyncGenerator<string> {
  const { stringify } = await import('csv-stringify/sync');
  const text = (records: readonly SuppressionRecord[], header: boolean): string =>
    stringify([...records], { columns, header, escape_formulas: true, record_delimiter: 'windows' });
  yield text([], true);
  for await (const ids of pages) yield text(await read(ids), false);
}
