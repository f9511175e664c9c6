/** What the copy of one recipient has of its own: how this recipient unsubscribes, and the links that tell what this recipient does. */
import type { CommandDeps } from '../../commands/core/deps.js';
import { linkBaseOf, unsubscribeUrl } from '../../commands/recipients/links.js';
import type { Email } from '../../domain/email/state.js';
import {
  assertDefined,
  parseEmailId,
  parseTeamId,
  splitStream,
  type EmailId,
  type StreamName,
  type TeamId,
} from '../../domain/core/ids.js';
import type { EmailInput } from '../../domain/ports/renderer.js';
import type { RenderEnvironment } from '../../domain/rendering/scope/environment.js';
import { trackHtml } from '../../domain/recipients/rewrite.js';
import type { TrackingTokens } from '../../domain/recipients/tracking.js';

export type CopyDeps = Pick<CommandDeps, 'keys' | 'linkBase' | 'withoutCopies' | 'limits'> & Readonly<{ trackingTokens: TrackingTokens }>;

export type CopyParts = Readonly<{
  /** After those of the call, in this order. */
  headers: readonly Readonly<{ name: string; value: string }>[];
  /** What the template is told beside the moment and the company. */
  environment: Pick<RenderEnvironment, 'unsubscribeUrl'>;
  /** How the template is rendered beside that. */
  rendering: Pick<EmailInput, 'marksUntracked'>;
  /** Makes the HTML of the copy of what was rendered. */
  html: (rendered: string) => string;
}>;

type Addressed = Readonly<{ stream: StreamName; teamId: string }>;

/** `recipient`: its place in an email whose content is there. */
export const copyPartsOf = (deps: CopyDeps, { stream, teamId }: Addressed, email: Email, recipient: number): CopyParts => {
  const emailId = assertDefined(parseEmailId(splitStream(stream).id), 'email id');
  const own = { emailId, recipient };
  return { ...unsubscribing(deps, assertDefined(parseTeamId(teamId), 'team id'), email, own), ...tracked(deps, email, own) };
};

type Own = Readonly<{ emailId: EmailId; recipient: number }>;

const unsubscribing = (
  deps: CopyDeps,
  teamId: TeamId,
  { accepted: { unsubscribeList: list }, content }: Email,
  { emailId, recipient }: Own,
): Pick<CopyParts, 'headers' | 'environment'> => {
  if (list === undefined) return { headers: [], environment: {} };
  const address = content!.recipients[recipient]!.email;
  const url = unsubscribeUrl(deps, linkBaseOf(deps), { teamId, emailId, recipient, address, list });
  const headers = [
    { name: 'List-Unsubscribe', value: `<${url}>` },
    { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
  ];
  return { headers, environment: { unsubscribeUrl: url } };
};

const tracked = (
  { trackingTokens: tokens, limits }: CopyDeps,
  { accepted: { tracking } }: Email,
  own: Own,
): Pick<CopyParts, 'rendering' | 'html'> => {
  if (tracking === undefined) return { rendering: {}, html: (rendered) => rendered };
  return {
    rendering: { marksUntracked: true },
    html: (rendered) => trackHtml(rendered, { tokens, tracking, sizeBytesMax: limits.htmlSizeBytesMax, ...own }),
  };
};
