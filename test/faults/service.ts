/**
 * The whole service inside a program of faults: with a relay of its script, a clock of its own, and a log that may
 * refuse.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EmailRecord } from '../../src/api/email.js';
import type { EventStore } from '../../src/domain/ports/event-store.js';
import { sendBody, startTestApp, type TestApp } from '../support/app.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';
import { runCommand } from '../support/server-process.js';
import { openSmtpScript, type SmtpScriptServer } from '../support/smtp-script.js';

export type Service = Readonly<{
  app: TestApp;
  clock: FakeClock;
  sink: SmtpScriptServer;
  /** Sends until it is accepted, under one Idempotency-Key. Out: the id, and how many calls it took. */
  sendUntilAccepted: (
    key: string,
    more?: Readonly<Record<string, unknown>>,
  ) => Promise<Readonly<{ id: string; calls: number }>>;
  /** Lets time pass until each email has come to an end; out: their records. */
  whenEnded: (ids: readonly string[]) => Promise<readonly EmailRecord[]>;
  /** Stops the service, checks its log by `sealpost verify`, and removes everything. Out: what verify found wrong. */
  end: () => Promise<readonly string[]>;
}>;

const STEP_MS = 60_000;
const STEPS_MAX = 2_000;
const CALLS_MAX = 1_000;

const hasEnded = ({ status }: EmailRecord): boolean => ['sent', 'delivered', 'bounced', 'failed'].includes(status);

export const openService = async (wrapStore?: (store: EventStore) => EventStore): Promise<Service> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sealpost-faults-'));
  const clock = fakeClock();
  const sink = await openSmtpScript();
  const settings = { SEALPOST_SMTP_URL: `${sink.url}?tls=off`, SEALPOST_RETRY_DELAYS: '60,120,300' };
  const app = await startTestApp({ dataDir, clock, settings, ...(wrapStore === undefined ? {} : { wrapStore }) });
  return {
    app,
    clock,
    sink,
    sendUntilAccepted: async (key, more) => {
      for (let calls = 1; calls <= CALLS_MAX; calls += 1) {
        const { status, body } = await app.call<{ id: string }>('POST', '/api/emails/send', sendBody(more), {
          'idempotency-key': key,
        });
        if (status === 201) return { id: body.id, calls };
      }
      throw new Error(`${key} was not accepted by ${CALLS_MAX} calls`);
    },
    whenEnded: async (ids) => {
      for (let step = 0; step < STEPS_MAX; step += 1) {
        const records = await Promise.all(ids.map(app.email));
        if (records.every(hasEnded)) return records;
        await clock.advance(STEP_MS);
      }
      const open = (await Promise.all(ids.map(app.email))).filter((record) => !hasEnded(record));
      throw new Error(
        `${open.length} emails never came to an end: ${open.map(({ id, status }) => `${id} ${status}`).join(', ')}`,
      );
    },
    end: async () => {
      await app.stop();
      await sink.close();
      const { code, stdout, stderr } = await runCommand(['verify'], { SEALPOST_DATA_DIR: dataDir });
      rmSync(dataDir, { recursive: true, force: true });
      return code === 0 ? [] : [`verify: ${stdout}${stderr}`];
    },
  };
};

/** The last line of a reply has no hyphen; a reply without one is never over, and nobody can go by it. */
const WHOLE_REPLY = /^2\d\d(?: [^\n]*)?$/m;

/**
 * Compares what the service says of emails with what the relay has taken: who is `sent` has it once, and nobody else
 * has it.
 */
export const judgeDeliveries = (
  records: readonly EmailRecord[],
  sink: Pick<SmtpScriptServer, 'accepted'>,
): readonly string[] => {
  const taken = new Map<string, number>();
  for (const { messageId, envelope, reply = '' } of sink.accepted()) {
    if (!WHOLE_REPLY.test(reply)) continue;
    for (const to of envelope.to) taken.set(`<${messageId}> ${to}`, (taken.get(`<${messageId}> ${to}`) ?? 0) + 1);
  }
  return records.flatMap(({ id, messageId, recipients }) =>
    recipients.flatMap(({ email, status }) => {
      const copies = taken.get(`${messageId} ${email}`) ?? 0;
      const expected = status === 'sent' || status === 'delivered' ? 1 : 0;
      return copies === expected ? [] : [`${id}: a recipient is ${status}, and the relay has taken ${copies} copies`];
    }),
  );
};
