/** Needs of OAuth apps, their grants and tokens. */
import type { OAuthAppState } from '../../domain/apps/app.js';
import type { GrantState } from '../../domain/apps/grant.js';
import type { TokenList } from '../../domain/apps/tokens.js';
import type { AccessNeeds } from '../access/needs.js';
import type { BillingNeeds } from '../billing/credits.js';
import type { Load } from '../core/ports.js';

export type AppNeeds = AccessNeeds &
  BillingNeeds &
  Readonly<{
    oauthApp: Load<OAuthAppState>;
    oauthGrant: Load<GrantState>;
    /** The tokens in use of one person, or of one app that acts for itself. */
    oauthTokens: Load<TokenList>;
  }>;
