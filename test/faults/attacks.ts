/**
 * Attacks that are tests of every run too: databases with damaged pages and read models, edits of the log by who has
 * the data directory, a log that is away, events of a newer program, and readers of the output that go away.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FaultReport, ProgramOptions } from './report.js';

const SUITES = ['damaged', 'verify', 'tampering', 'store-away', 'side-by-side', 'stop', 'stop-output'] as const;

const TIMEOUT_S = 900;

/** Runs each test file once, whatever the rounds. */
export const attacksTest = async ({ print }: Pick<ProgramOptions, 'print'>): Promise<FaultReport> => {
  const counts: Record<string, number> = {};
  const faults: string[] = [];
  for (const suite of SUITES) {
    const { code, output } = await run(fileURLToPath(new URL(`../e2e/${suite}.test.js`, import.meta.url)));
    counts[`checks of ${suite}`] = Number(/^# \{ total: (\d+)/m.exec(output)?.[1] ?? 0);
    if (code !== 0) faults.push(`${suite}: ${/^ *not ok .*$/m.exec(output)?.[0].trim() ?? `ends with ${code}`}`);
    print(`  ${suite}: ${code === 0 ? 'passed' : 'failed'}`);
  }
  return { counts, faults };
};

const run = (file: string): Promise<Readonly<{ code: number | null; output: string }>> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file], {
      env: { ...process.env, TAP_TIMEOUT: String(TIMEOUT_S) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
