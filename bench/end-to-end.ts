/**
 * An email from the call to the relay and into the read models, against the pool of nodemailer sending the same mail
 * ready-made: CPU per email.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { captureMail } from './support/captured-mail.js';
import { machineWithDisk } from './support/machine.js';
import { numbersGiven } from './support/options.js';
import { compareMeasures } from './support/pairs.js';
import { describeProfile, partRules } from './support/parts.js';
import { profileOptions, readProfile } from './support/profile.js';
import { pinToLoad } from './support/programs.js';
import { figuresOf, report } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { EMAILS, runPool, runService, SMTP_CONNECTIONS, WARM_UP } from './support/send-runs.js';
import { CONNECTIONS } from './support/service.js';

const TARGET = 2.0;
const { pairs, emails, 'warm-up': warmUp } = numbersGiven({ pairs: 8, emails: EMAILS, 'warm-up': WARM_UP });
const counts = { emails, warmUp };

pinToLoad();
const raw = await withDirectory((directory) =>
  captureMail(directory, { SEALPOST_SMTP_CONNECTIONS: String(SMTP_CONNECTIONS) }),
);
const result = await withDirectory(async (directory) => {
  const mail = join(directory, 'mail.eml');
  writeFileSync(mail, raw);
  return compareMeasures({
    name: 'an email from the call to the relay',
    ours: () => withDirectory((own) => runService(own, counts).then(({ cpuUs }) => cpuUs)),
    limit: () => runPool(mail, counts),
    pairs,
    operations: emails,
  });
});
const profile = await withDirectory(async (directory) => {
  const { window } = await runService(directory, counts, { nodeOptions: profileOptions(directory) });
  return readProfile(directory, window, partRules);
});
console.log('\nthe time of one email by part (profile of one further run, waiting for the disk included):');
for (const line of describeProfile(profile, result.oursUs)) console.log(line);
report({
  name: 'end-to-end',
  figures: [
    ...figuresOf(result, 'µs/email', { atMost: TARGET }),
    { what: 'size of a mail', value: raw.length, unit: 'bytes' },
  ],
  machine: machineWithDisk(),
  details: {
    ...result,
    connections: CONNECTIONS,
    smtpConnections: SMTP_CONNECTIONS,
    profile: { ...profile, functions: profile.functions.slice(0, 60) },
  },
});
