/** Lines of a file `.env` that would be passed over without a word. */
import t from 'tap';
import { parseEnv } from 'node:util';
import { linesWithoutSetting } from '../../src/service/settings/config.js';

void t.test('a line without a setting is found, and no other', async (t) => {
  const text = [
    '# a comment, of A=1',
    '',
    'HOST=127.0.0.1',
    '  export PORT = 3000  # why',
    'SEALPOST_LOG_LEVEL',
    'KEY="-----BEGIN KEY-----',
    'no setting here',
    '-----END KEY-----"',
    "ONE='in one line'",
    'OPEN="never closed',
    'SEALPOST_PUBLIC_URL: https://mail.example.com',
    '=1',
    'EMPTY=',
  ].join('\r\n');
  t.same(linesWithoutSetting(text), [5, 11, 12]);
  t.same(linesWithoutSetting('A=1\nB=2'), []);
  t.same(
    Object.keys(parseEnv(text.replaceAll('\r\n', '\n'))).sort(),
    ['EMPTY', 'HOST', 'KEY', 'ONE', 'OPEN', 'PORT'],
    'Node reads the rest',
  );
});
