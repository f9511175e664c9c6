/** To whom and as whom the relay is given an email. */
import type { CommandDeps } from '../../commands/core/deps.js';
import { assertDefined, parseEmailId, splitStream, type StreamName } from '../../domain/core/ids.js';
import type { OutgoingMessage } from '../../domain/ports/mailer.js';

/** Reports come back under an address that names the email, where such a return path is set up. */
export const envelopeOf = (
  { feedback }: Pick<CommandDeps, 'feedback'>,
  stream: StreamName,
  from: string,
  to: readonly string[],
): OutgoingMessage['envelope'] => {
  if (feedback === undefined) return { from, to };
  const { id } = splitStream(stream);
  return { from: feedback.returnPath.senderOf(assertDefined(parseEmailId(id), 'email id')), to, reportsAs: id };
};
