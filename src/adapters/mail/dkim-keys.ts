/** Key pairs for DKIM from the system's generator: RSA with 2,048 bits (RFC 6376) and Ed25519 (RFC 8463). */
import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { DkimKeys } from '../../domain/ports/dkim-keys.js';

const make = promisify(generateKeyPair);

const RSA_BITS = 2_048;
/** The key itself stands at the end of its DER form (RFC 8410). */
const ED25519_BYTES = 32;

export const systemDkimKeys = (): DkimKeys => ({
  make: async () => {
    const rsa = await make('rsa', { modulusLength: RSA_BITS });
    const ed25519 = await make('ed25519');
    const pem = { type: 'pkcs8', format: 'pem' } as const;
    const der = { type: 'spki', format: 'der' } as const;
    return [
      { algorithm: 'rsa', publicKey: rsa.publicKey.export(der).toString('base64'), privateKey: String(rsa.privateKey.export(pem)) },
      {
        algorithm: 'ed25519',
        publicKey: ed25519.publicKey.export(der).subarray(-ED25519_BYTES).toString('base64'),
        privateKey: String(ed25519.privateKey.export(pem)),
      },
    ];
  },
});
