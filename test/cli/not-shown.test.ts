/** Encrypted fields that no screen shows. */
import t from 'tap';
import { isSecret, NOT_SHOWN, withoutSecrets } from '../../src/cli/log.js';
import { eventDefinitions } from '../../src/domain/events.js';

void t.test('every sealed field that signs or lets in is hidden, and what is personal is not', async (t) => {
  const hidden = new Set<string>();
  const shown = new Set<string>();
  for (const { sealed } of Object.values(eventDefinitions)) {
    for (const field of Object.keys(sealed?.properties ?? {})) (isSecret(field) ? hidden : shown).add(field);
  }
  t.same([...hidden].sort(), ['passwordHash', 'privateKey', 'privateKeys', 'recoveryHashes', 'secret']);
  for (const field of shown) t.notMatch(field, /secret|privat|password|hash|token/i, field);
  t.ok(shown.has('email') && shown.has('ipAddress'));
});

void t.test('a field of that name that a caller gave is shown', async (t) => {
  t.same(withoutSecrets({ secret: 'whsec_x', variables: { secret: 'a word' } }), {
    secret: NOT_SHOWN,
    variables: { secret: 'a word' },
  });
});
