/**
 * Relays that misbehave in every way at every step of the dialogue: each mail comes to an end, and the record and the
 * relay agree on who got it.
 */
import { sendBody } from '../support/app.js';
import { seededRandom, type Random } from '../support/random.js';
import { close, hang, replyThenClose, reply, reset, type SmtpAction, type SmtpStep } from '../support/smtp-script.js';
import type { FaultReport, ProgramOptions } from './report.js';
import { judgeDeliveries, openService, type Service } from './service.js';

const misbehaviours: Readonly<Record<string, SmtpAction>> = {
  'refuses for now': reply('451 4.3.0 try later'),
  'closes politely': replyThenClose('421 4.3.2 closing'),
  'refuses for good': reply('554 5.7.1 policy says no'),
  'knows nobody': reply('550 5.1.1 no such user'),
  'replies with no code': reply('hello'),
  'replies with a code of its own': reply('999 what is this'),
  'replies in many lines without an end': reply('250-one\r\n250-two'),
  'replies with a long line': reply(`250 ${'x'.repeat(20_000)}`),
  'closes without a word': close,
  resets: reset,
  hangs: hang,
};
const steps: readonly SmtpStep[] = ['connect', 'ehlo', 'mail', 'rcpt', 'data', 'message'];

/** How each relay is wrong. */
export const faultyRelays = steps.flatMap((step) =>
  Object.entries(misbehaviours).map(([how, action]) => ({ step, how, action })),
);

const STEP_MS = 30_000;
const FAULTY_STEPS = 6;

/** Some moments of the script go wrong, until the relay is well again. */
const oneRelay = async (
  service: Service,
  relay: (typeof faultyRelays)[number],
  random: Random,
): Promise<readonly string[]> => {
  const { app, clock, sink } = service;
  sink.setScript(({ step }) => (step === relay.step && random.chance(0.7) ? relay.action : undefined));
  const ids: string[] = [];
  for (let mail = 0; mail < 2; mail += 1) {
    const to = Array.from({ length: random.between(1, 3) }, (_, at) => ({ email: `r${at}@example.com` }));
    const { status, body } = await app.call<{ id: string }>('POST', '/api/emails/send', sendBody({ to }));
    if (status !== 201) throw new Error(`a send call was answered ${status}`);
    ids.push(body.id);
  }
  for (let step = 0; step < FAULTY_STEPS; step += 1) await clock.advance(STEP_MS);
  sink.setScript(() => undefined);
  const records = await service.whenEnded(ids);
  return judgeDeliveries(records, sink).map((fault) => `a relay that ${relay.how} at ${relay.step}: ${fault}`);
};

/** `rounds`: how often each relay is met; `share` of them, where not all are. */
export const relaysTest = async ({
  rounds,
  seed,
  share = 1,
  print,
}: ProgramOptions & Readonly<{ share?: number }>): Promise<FaultReport> => {
  const random = seededRandom(seed);
  const service = await openService();
  const faults: string[] = [];
  let relays = 0;
  for (let round = 1; round <= rounds; round += 1) {
    for (const relay of faultyRelays) {
      if (!random.chance(share)) continue;
      relays += 1;
      faults.push(...(await oneRelay(service, relay, random)));
    }
    print(`  round ${round}: ${relays} relays, ${faults.length} faults`);
  }
  const counts = {
    'faulty relays': relays,
    mails: relays * 2,
    dialogues: service.sink.connections(),
    'mails taken': service.sink.accepted().length,
  };
  return { counts, faults: [...faults, ...(await service.end())] };
};
