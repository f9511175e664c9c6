/** What the copy of one recipient has of its own: how this recipient unsubscribes. */
import type { CommandDeps } from '../commands/deps.js';
import { linkBaseOf, unsubscribeUrl } from '../commands/unsubscribe-links.js';
import type { Email } from '../domain/email/state.js';
import { assertDefined, parseEmailId, parseTeamId, splitStream, type StreamName } from '../domain/ids.js';
import type { RenderEnvironment } from '../domain/ports/renderer.js';

export type CopyDeps = Pick<CommandDeps, 'keys' | 'linkBase' | 'withoutCopies'>;

export type CopyParts = Readonly<{
  /** After those of the call, in this order. */
  headers: readonly Readonly<{ name: string; value: string }>[];
  /** What the template is told beside the moment and the company. */
  environment: Pick<RenderEnvironment, 'unsubscribeUrl'>;
}>;

/** `recipient`: its place in an email whose content is there. */
export const copyPartsOf = (
  deps: CopyDeps,
  { stream, teamId }: Readonly<{ stream: StreamName; teamId: string }>,
  { accepted: { unsubscribeList: list }, content }: Email,
  recipient: number,
): CopyParts => {
  if (list === undefined) return { headers: [], environment: {} };
  const url = unsubscribeUrl(deps, linkBaseOf(deps), {
    teamId: assertDefined(parseTeamId(teamId), 'team id'),
    emailId: assertDefined(parseEmailId(splitStream(stream).id), 'email id'),
    recipient,
    address: content!.recipients[recipient]!.email,
    list,
  });
  const headers = [
    { name: 'List-Unsubscribe', value: `<${url}>` },
    { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
  ];
  return { headers, environment: { unsubscribeUrl: url } };
};
