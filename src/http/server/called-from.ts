import type { CalledFrom } from '../../commands/people/sessions.js';

/** What a browser says of itself is shown to its owner; more of it says nothing. */
const USER_AGENT_CHARS_MAX = 256;

type Asked = Readonly<{ id: string; ip: string; headers: Readonly<Record<string, string | string[] | undefined>> }>;

/** From where a call comes, as its owner sees it in the list of sessions. */
export const calledFrom = ({ id, ip, headers }: Asked): CalledFrom => ({
  requestId: id,
  ipAddress: ip,
  userAgent: String(headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS_MAX),
});
