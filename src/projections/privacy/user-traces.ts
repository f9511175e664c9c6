/** Where a person is known: what has to end when they go. */
import {
  assertDefined,
  parseEmailId,
  parseOAuthGrantId,
  parseSessionId,
  parseTeamId,
  type EmailId,
  type UserId,
} from '../../domain/core/ids.js';
import type { Cursor, Document, ReadModels } from '../../domain/ports/read-models.js';
import { EMAILS } from '../email/documents.js';
import { recipientTerm } from '../email/search.js';
import { OAUTH_GRANTS } from '../apps/apps.js';
import type { AddressesOfTeam, UserTraces } from './known-traces.js';
import { SESSIONS } from '../people/sessions.js';
import { MEMBERSHIPS, type MembershipDocument } from '../teams/teams.js';

/** More than anybody has. */
const TRACES_MAX = 10_000;
/** So many mails are read at once. */
const PAGE = 200;

type Deps = Readonly<{ readModels: Pick<ReadModels, 'find'> }>;

const found = (deps: Deps, collection: string, field: string, userId: UserId): Promise<readonly Document[]> =>
  deps.readModels.find(collection, { where: { [field]: { eq: userId } }, limit: TRACES_MAX });

/** Archived ones have no address any more. */
const confidentialMails = async ({ readModels }: Deps, { teamId, addresses }: AddressesOfTeam): Promise<readonly EmailId[]> => {
  const ids: EmailId[] = [];
  for (const address of teamId === undefined ? [] : addresses)
    for (let after: Cursor | undefined; ;) {
      const page = await readModels.find(EMAILS, {
        where: { team: { eq: teamId! } },
        terms: [recipientTerm(address)],
        limit: PAGE,
        ...(after === undefined ? {} : { after }),
      });
      for (const email of page) if (email['confidential'] === 1) ids.push(assertDefined(parseEmailId(email.id), 'email id'));
      if (page.length < PAGE) break;
      const { seq } = page.at(-1)!;
      after = { value: seq, seq };
    }
  return ids;
};

/** Living teams and those that can be restored, open sessions, open grants. */
export const tracesOfUser = async (deps: Deps, userId: UserId, mailed: AddressesOfTeam): Promise<UserTraces> => {
  const memberships = [...(await found(deps, MEMBERSHIPS, 'user', userId)), ...(await found(deps, MEMBERSHIPS, 'deletedFor', userId))];
  return {
    teams: memberships.map((membership) => assertDefined(parseTeamId((membership as MembershipDocument).team), 'team id')),
    sessions: (await found(deps, SESSIONS, 'user', userId)).map(({ id }) => assertDefined(parseSessionId(id), 'session id')),
    mails: await confidentialMails(deps, mailed),
    grants: (await found(deps, OAUTH_GRANTS, 'user', userId)).map(({ id }) => assertDefined(parseOAuthGrantId(id), 'grant id')),
  };
};
