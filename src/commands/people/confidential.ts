/** Which mails say what lets somebody in, and are shown to nobody but their recipients. */
import { loadState } from '../core/handle.js';
import type { CommandDeps } from '../core/deps.js';
import { emailDecider } from '../../domain/email/decider.js';
import { emailStream, parseEmailId } from '../../domain/core/ids.js';

const OWN_MESSAGE_ID = /^<([0-9a-f-]{36})@/;

/** In: the Message-ID of a mail that has left. Out: false of a mail that is none of this service's, too. */
export const isConfidentialMail = async (deps: CommandDeps, messageId: string): Promise<boolean> => {
  const id = parseEmailId(OWN_MESSAGE_ID.exec(messageId.trim())?.[1] ?? '');
  if (id === undefined) return false;
  const { state } = await loadState(deps.eventLog, emailStream(id), emailDecider);
  return state?.accepted.confidential === true;
};
