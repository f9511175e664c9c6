/** Simulated recipients: no host is asked for them; their outcomes and reports are made up here. */
import type { RecipientOutcome } from '../ports/mailer.js';
import { pendingRecipients, type PlacedOutcome, type Email } from './state.js';
import type { EmailEvent } from './events.js';

/** `.sealpost` is no top-level domain, so no host takes mail for it. */
export const SIMULATOR_DOMAIN = 'simulator.sealpost';

/** The local part of a simulator address, up to a `+`, names what is simulated. */
export const simulations = ['success', 'bounce', 'softbounce', 'complaint', 'delay'] as const;
export type Simulation = (typeof simulations)[number];

/** In: a domain in lower case. Out: whether it is that of the simulator, or a subdomain. */
export const isOfSimulator = (domain: string): boolean =>
  domain === SIMULATOR_DOMAIN || domain.endsWith(`.${SIMULATOR_DOMAIN}`);

/** In: an address as emails have it. */
export const isSimulatorAddress = (address: string): boolean => address.endsWith(`@${SIMULATOR_DOMAIN}`);

/** An unknown mailbox of the simulator bounces. */
const simulationOfAddress = (address: string): Simulation => {
  const [name] = address.slice(0, address.lastIndexOf('@')).toLowerCase().split('+', 1);
  return simulations.find((simulation) => simulation === name) ?? 'bounce';
};

type Addressed = Pick<Email, 'accepted' | 'content'>;

/** undefined: the recipient is real, or its address is destroyed. With a test key every recipient is simulated. */
export const simulationOf = ({ accepted, content }: Addressed, recipient: number): Simulation | undefined => {
  const address = content?.recipients[recipient]?.email;
  if (address !== undefined && isSimulatorAddress(address)) return simulationOfAddress(address);
  return accepted.test === true && accepted.delivers !== true ? 'success' : undefined;
};

/** The recipients that wait for an attempt, real and simulated. */
export const pendingParts = (
  email: Addressed & Pick<Email, 'recipientStatuses' | 'copies'>,
): Readonly<{ real: readonly number[]; simulated: readonly number[] }> => {
  const [real, simulated]: [number[], number[]] = [[], []];
  for (const recipient of pendingRecipients(email))
    (simulationOf(email, recipient) === undefined ? real : simulated).push(recipient);
  return { real, simulated };
};

export type SimulatedOutcome = RecipientOutcome & Readonly<{ simulated: true }>;

const simulated = (outcome: Omit<RecipientOutcome, 'text'>, words: string): SimulatedOutcome => ({
  ...outcome,
  text: `${outcome.replyCode} ${outcome.enhancedCode} ${words}`,
  simulated: true,
});

const TAKEN = simulated(
  { result: 'accepted', replyCode: 250, enhancedCode: '2.0.0', rule: 'accepted' },
  'Simulated: taken',
);
const DEFERRED = simulated(
  { result: 'deferred', replyCode: 451, enhancedCode: '4.7.1', rule: 'greylisted' },
  'Simulated: greylisted, taken at the next attempt',
);
const BOUNCED = simulated(
  { result: 'bounced', replyCode: 550, enhancedCode: '5.1.1', rule: 'mailbox-unknown' },
  'Simulated: there is no such mailbox',
);

/** The outcome of the current attempt for that recipient. */
export const simulatedOutcome = (email: Addressed & Pick<Email, 'replies'>, recipient: number): SimulatedOutcome => {
  switch (simulationOf(email, recipient)) {
    case 'bounce':
      return BOUNCED;
    case 'delay': {
      const { simulated: isKnown, replyCode } = email.replies[recipient]!;
      return isKnown === true && replyCode === DEFERRED.replyCode ? TAKEN : DEFERRED;
    }
    case 'success':
    case 'softbounce':
    case 'complaint':
    case undefined:
      return TAKEN;
  }
};

/** The reports about simulated recipients that were accepted: delivered, bounced or complained. */
export const simulatedReports = (
  email: Addressed,
  outcomes: readonly PlacedOutcome[],
  at: string,
): readonly EmailEvent[] => {
  const taken = outcomes
    .filter((outcome) => outcome.simulated === true && outcome.result === 'accepted')
    .map(({ recipient }) => recipient);
  if (taken.length === 0) return [];
  const are = (wanted: Simulation): number[] => taken.filter((recipient) => simulationOf(email, recipient) === wanted);
  const [returned, complained] = [are('softbounce'), are('complaint')];
  const delivered = taken.filter((recipient) => !returned.includes(recipient));
  const events: EmailEvent[] = [];
  if (delivered.length > 0) events.push({ type: 'EmailDelivered', data: { at, recipients: delivered } });
  if (returned.length > 0) events.push(comesBack(at, returned));
  if (complained.length > 0) {
    events.push({
      type: 'EmailComplained',
      data: { at, feedbackType: 'abuse', recipients: complained, simulated: true },
    });
  }
  return events;
};

const comesBack = (at: string, recipients: readonly number[]): EmailEvent => ({
  type: 'EmailBounceReported',
  data: {
    at,
    bounces: recipients.map((recipient) => ({
      recipient,
      bounceType: 'soft',
      bounceSubType: 'mailbox-full',
      enhancedCode: '5.2.2',
    })),
  },
  sealed: { replies: recipients.map(() => '552 5.2.2 Simulated: the mailbox is full') },
});
