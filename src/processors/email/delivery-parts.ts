/** What an attempt sends apart: to whom a host is given the mail, to whom none is, and where each gets a copy of its own, each by itself. */
import { leavesAsCopies } from '../../domain/email/copies.js';
import { pendingParts, SIMULATOR_DOMAIN, simulatedOutcome } from '../../domain/email/simulator.js';
import type { Email } from '../../domain/email/state.js';
import type { Delivered, Delivery, Mailer, RecipientOutcome } from '../../domain/ports/mailer.js';

/** `recipients`: by their place in the email; of a part that is not simulated, no address of the simulator is among them. */
export type Part = Readonly<{ recipients: readonly number[]; isSimulated: boolean }>;

/** In the order in which they are sent: what needs a host comes first, so that an email waits for its host before it has begun. */
export const partsOf = (email: Email): readonly Part[] => {
  const { real, simulated } = pendingParts(email);
  const apart = (recipients: readonly number[], isSimulated: boolean): readonly Part[] => {
    if (recipients.length === 0) return [];
    return leavesAsCopies(email) ? recipients.map((one) => ({ recipients: [one], isSimulated })) : [{ recipients, isSimulated }];
  };
  return [...apart(real, false), ...apart(simulated, true)];
};

/** Whether what is left to be sent is simulated, all of it. */
export const needsNoHost = (email: Email): boolean => {
  const { real, simulated } = pendingParts(email);
  return real.length === 0 && simulated.length > 0;
};

/** The host of the record of an attempt. */
export const hostFor = (mailer: Pick<Mailer, 'host'>, email: Email): string => (needsNoHost(email) ? SIMULATOR_DOMAIN : mailer.host);

type Sender = Pick<Mailer, 'send' | 'host'>;

/** How a part is sent. `email`: as it is before that. */
export const senderOf = (mailer: Sender, email: Email, { recipients, isSimulated }: Part): Sender =>
  isSimulated
    ? { host: SIMULATOR_DOMAIN, send: (delivery) => simulate(delivery, () => recipients.map((one) => simulatedOutcome(email, one))) }
    : mailer;

/** The message is made as for a host, and thrown away. */
const simulate = async ({ begin, end, signal }: Delivery, outcomes: () => readonly RecipientOutcome[]): Promise<Delivered> => {
  if (signal.aborted) return { kind: 'given-up' };
  if ((await begin()) === undefined) return { kind: 'not-wanted' };
  await end({ host: SIMULATOR_DOMAIN, durationMs: 0, recipients: outcomes() });
  return { kind: 'ended' };
};
