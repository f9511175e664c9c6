/**
 * An email from the call to the relay, signed by DKIM with RSA-2048, against the pool of nodemailer that signs the same
 * mail with the same key: CPU per email.
 */
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { captureFrom, captureMail } from './support/captured-mail.js';
import { machineWithDisk } from './support/machine.js';
import { numbersGiven } from './support/options.js';
import { compareMeasures } from './support/pairs.js';
import { pinToLoad } from './support/programs.js';
import { figuresOf, report } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import {
  EMAILS,
  runPool,
  runService,
  SMTP_CONNECTIONS,
  startPool,
  WARM_UP,
  type SigningKey,
} from './support/send-runs.js';
import { CONNECTIONS } from './support/service.js';

const TARGET = 1.5;
const { pairs, emails, 'warm-up': warmUp } = numbersGiven({ pairs: 8, emails: EMAILS, 'warm-up': WARM_UP });
const counts = { emails, warmUp };
const SIGNATURE = /^DKIM-Signature: [^]*?a=rsa-sha256;/m;

pinToLoad();
const result = await withDirectory(async (directory) => {
  const privateKeyFile = join(directory, 'dkim.pem');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  writeFileSync(privateKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const key: SigningKey = { domain: 'service.test', selector: 'bench', privateKeyFile };
  const env = {
    SEALPOST_DKIM_DOMAIN: key.domain,
    SEALPOST_DKIM_SELECTOR: key.selector,
    SEALPOST_DKIM_PRIVATE_KEY_FILE: privateKeyFile,
  };
  const smtp = { SEALPOST_SMTP_CONNECTIONS: String(SMTP_CONNECTIONS) };
  const signed = await withDirectory((own) => captureMail(own, { ...smtp, ...env }));
  if (!SIGNATURE.test(signed.toString('latin1'))) throw new Error('the mail of the service is not signed');
  const mail = join(directory, 'mail.eml');
  writeFileSync(mail, await withDirectory((own) => captureMail(own, smtp)));
  const byPool = await captureFrom(async (port, taken) => {
    const pool = await startPool(port, mail, key);
    try {
      pool.send('1');
      await taken;
    } finally {
      pool.kill();
    }
  });
  if (!SIGNATURE.test(byPool.toString('latin1'))) throw new Error('the mail of the pool is not signed');
  return compareMeasures({
    name: 'an email from the call to the relay, signed by RSA-2048',
    ours: () => withDirectory((own) => runService(own, counts, { env }).then(({ cpuUs }) => cpuUs)),
    limit: () => runPool(mail, counts, key),
    pairs,
    operations: emails,
  });
});
report({
  name: 'dkim',
  figures: figuresOf(result, 'µs/email', { atMost: TARGET }),
  machine: machineWithDisk(),
  details: { ...result, connections: CONNECTIONS, smtpConnections: SMTP_CONNECTIONS },
});
