// A real OpenID provider (oidc-provider) as a program. In: the environment variable PROVIDER, JSON with `port`, `clients`, `accounts` by login,
// and `claimsInIdToken`. It prints a line when it listens. People sign in on its development pages, with any password.
import process from 'node:process';
import { Provider } from 'oidc-provider';

const { port, clients, accounts, claimsInIdToken } = JSON.parse(process.env.PROVIDER);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients,
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  conformIdTokenClaims: !claimsInIdToken,
  cookies: { keys: ['a key of a test'] },
  findAccount: async (_context, id) => ({ accountId: id, claims: async () => ({ sub: id, ...accounts[id] }) }),
  loadExistingGrant: async (context) => {
    const grant = new context.oidc.provider.Grant({
      clientId: context.oidc.client.clientId,
      accountId: context.oidc.session.accountId,
    });
    grant.addOIDCScope('openid email profile');
    await grant.save();
    return grant;
  },
});

provider.listen(port, '127.0.0.1', () => process.stdout.write('listening\n'));
