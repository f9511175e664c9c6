/** The report of a dry run about a file: its costs, and for each row what would become of it, by its line. */
import { csvOf } from './csv.js';
import type { Built, LeftOut } from './rows.js';

/** The answer to a dry run, as far as the report reads it. */
export type Answer = Readonly<{
  valid: boolean;
  totalEmails: number;
  totalQuotaCost: number;
  costBreakdown: Readonly<{ emails: number; attachments: number }>;
  quotaStatus: Readonly<{ emailQuota: Quota; attachmentQuota: Quota }>;
  recipientValidation: Readonly<{ failing: readonly number[] }>;
  warnings: readonly string[];
}>;

type Quota = Readonly<{ used: number; limit: number | null; remaining: number | null }>;

export type Entry = Readonly<{
  line: number;
  email: string;
  kind: 'fault' | 'duplicate' | 'invalid' | 'fails' | 'suppressed' | 'note';
  message: string;
}>;

export const kinds: Readonly<Record<Entry['kind'], string>> = {
  fault: 'left out: a cell has a fault',
  duplicate: 'left out: stands there before',
  invalid: 'left out: no address',
  suppressed: 'not written to: suppressed',
  fails: 'its email would fail',
  note: 'note',
};

export type Report = Readonly<{
  /** No call would be refused, and no email fails. */
  isValid: boolean;
  emails: number;
  cost: number;
  breakdown: Readonly<{ emails: number; attachments: number }>;
  quota: Quota | undefined;
  /** About the whole send: reasons for which it would be refused, and losses of the template. */
  general: readonly string[];
  entries: readonly Entry[];
  /** Lines whose emails would fail. */
  failing: readonly number[];
}>;

/** In: the recipients of each call, and its answer; rows that no call has. */
export const reportOf = (
  parts: readonly Readonly<{ recipients: readonly Built[]; answer: Answer }>[],
  leftOut: readonly LeftOut[],
): Report => {
  const entries: Entry[] = leftOut.map(({ line, email, kind, column, message }) => ({
    ...{ line, email, kind },
    message: column === '' ? message : `${column}: ${message}`,
  }));
  const general = new Set<string>();
  const failing: number[] = [];
  for (const { recipients, answer } of parts) {
    const fails = new Set(answer.recipientValidation.failing);
    for (const place of fails) {
      const line = recipients[place]?.line;
      if (line !== undefined) failing.push(line);
    }
    for (const warning of answer.warnings) {
      const found = /^recipients\[(\d+)\]/.exec(warning);
      const place = Number(found?.[1]);
      const built = recipients[place];
      if (found === null || built === undefined) general.add(warning);
      else
        entries.push({
          ...{ line: built.line, email: built.recipient.email },
          kind: kindOf(warning, fails.has(place)),
          message: spoken(warning.slice(found[0].length)),
        });
    }
  }
  const sum = (of: (answer: Answer) => number): number => parts.reduce((total, { answer }) => total + of(answer), 0);
  return {
    isValid: parts.every(({ answer }) => answer.valid),
    emails: sum(({ totalEmails }) => totalEmails),
    cost: sum(({ totalQuotaCost }) => totalQuotaCost),
    breakdown: {
      emails: sum(({ costBreakdown }) => costBreakdown.emails),
      attachments: sum(({ costBreakdown }) => costBreakdown.attachments),
    },
    quota: parts[0]?.answer.quotaStatus.emailQuota,
    general: [...general],
    entries: entries.sort((one, other) => one.line - other.line),
    failing,
  };
};

const kindOf = (warning: string, fails: boolean): Entry['kind'] => {
  if (fails) return 'fails';
  if (/is left out: its address /.test(warning)) return 'duplicate';
  if (/is left out: /.test(warning)) return 'invalid';
  return /is on the suppression list$/.test(warning) ? 'suppressed' : 'note';
};

/** Without the place in the call, which the reader does not know. */
const spoken = (rest: string): string =>
  rest
    .replace(/^ \(line \d+\)/, '')
    .replace(/^ \(email \d+ of \d+\)/, '')
    .replace(/^[:.]?\s*/, '')
    .replace(/^is left out: /, '');

/** The report as CSV; no cell of it runs as a formula. */
export const csvOfReport = ({ entries, general }: Report): string =>
  csvOf(
    ['line', 'email', 'what', 'reason'],
    [
      ...general.map((message) => ['', '', 'the whole send', message]),
      ...entries.map(({ line, email, kind, message }) => [line, email, kinds[kind], message]),
    ],
  );
