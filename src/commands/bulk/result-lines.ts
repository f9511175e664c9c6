/** Writes the results of a bulk send, a line each, as they are read. */
import { resultColumns, type BatchResult, type ResultFormat } from '../../api/bulk-results.js';

/** Some results as text. The first call gives the head of the table, too. */
export type WriteResults = (results: readonly BatchResult[]) => string;

/** JSON lines; or CSV (RFC 4180), in which no cell that begins like a formula is one. */
export const resultWriter = async (format: ResultFormat): Promise<WriteResults> => {
  if (format === 'jsonl') return (results) => results.map((result) => `${JSON.stringify(result)}\n`).join('');
  const { stringify } = await import('csv-stringify/sync');
  const columns = [...resultColumns];
  let header = true;
  return (results) => {
    const text = stringify([...results], { columns, header, escape_formulas: true, record_delimiter: 'windows' });
    header = false;
    return text;
  };
};

/** The text of all, piece by piece. */
export async function* resultLines(all: AsyncIterable<readonly BatchResult[]>, write: WriteResults): AsyncGenerator<string> {
  for await (const results of all) {
    const text = write(results);
    if (text !== '') yield text;
  }
}
