/** Tokens of readers, the HTML that carries them, and which requests come from machines. */
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { assertDefined, parseEmailId } from '../../src/domain/core/ids.js';
import {
  openReaderTokens,
  machineOfAddress,
  machineOfAgent,
  machineRules,
  GMAIL_CLIPS_AT_BYTES,
  trackHtml,
  type Tracked,
  openTrackingTokens,
} from '../../src/domain/recipients/tracking.js';

const keysOf = (secret: string) => ({
  fingerprint: (purpose: string, text: string | Uint8Array) =>
    createHmac('sha256', `${secret} ${purpose}`).update(text).digest('hex'),
});
const keys = keysOf('one');
const tokens = openTrackingTokens(keys);
const emailId = assertDefined(parseEmailId('0123abcd-4567-489a-8bcd-ef0123456789'), 'email id');
const url = 'https://mail.example.com';
const both = { opens: true, clicks: true, url };
const track = (html: string, more: Partial<Tracked> = {}): string =>
  trackHtml(html, { tokens, tracking: both, emailId, recipient: 1, sizeBytesMax: 1_000_000, ...more });

const linksOf = (html: string) =>
  [...html.matchAll(/href="https:\/\/mail\.example\.com\/t\/c\/([^"]+)"/g)].map(([, token]) =>
    tokens.openClick(token!),
  );

void t.test('a token is opened to what was sealed, and says nothing to others', async (t) => {
  const target = { emailId, recipient: 49, link: 65_535, url: 'https://shop.example/?email=ann@example.org' };
  const token = tokens.sealClick(target);
  t.same(tokens.openClick(token), target);
  t.equal(tokens.sealClick(target), token, 'the same again: a mail that is made again is the same mail');
  t.notMatch(Buffer.from(token, 'base64url').toString('latin1'), /shop|ann|example/);
  t.same(tokens.openOpen(tokens.sealOpen({ emailId, recipient: 0 })), { emailId, recipient: 0 });
  t.equal(tokens.sealOpen({ emailId, recipient: 0 }).length, 44);
});

void t.test('only what a browser opens is tracked', (t) => {
  for (const address of ['myapp://open?x=1', 'sms:+1555', 'mailto:a@b.example', 'tel:+1', '#top', '#']) {
    const html = `<p><a class="x" href="${address}">x</a></p>`;
    t.equal(track(html, { tracking: { opens: false, clicks: true, url } }), html, address);
  }
  t.match(linksOf(track('<a href="https://app.example.com/reset">x</a>')), [{ url: 'https://app.example.com/reset' }]);
  t.end();
});

void t.test('nobody makes one: of another purpose, another key, or changed anywhere it is none', async (t) => {
  const click = tokens.sealClick({ emailId, recipient: 0, link: 0, url: 'https://shop.example/' });
  const open = tokens.sealOpen({ emailId, recipient: 0 });
  t.equal(tokens.openOpen(click), undefined);
  t.equal(tokens.openClick(open), undefined);
  t.equal(openTrackingTokens(keysOf('two')).openClick(click), undefined);
  for (let at = 0; at < click.length; at += 1) {
    const changed = `${click.slice(0, at)}${click[at] === 'A' ? 'B' : 'A'}${click.slice(at + 1)}`;
    t.equal(tokens.openClick(changed), undefined, `changed at ${at}`);
  }
  for (const text of ['', 'A', '%', `${click}=`, ` ${click}`, click.slice(0, -1), 'ä'.repeat(50), 'A'.repeat(8_000)])
    t.equal(tokens.openClick(text), undefined, JSON.stringify(text.slice(0, 30)));
});

void t.test('law: whatever was sealed is opened, for its purpose alone', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (plain) => {
      const one = openReaderTokens(keys, 'one');
      const token = one.seal(plain);
      return Buffer.from(plain).equals(one.open(token)!) && openReaderTokens(keys, 'other').open(token) === undefined;
    }),
  );
});

void t.test('a token never leads elsewhere than to http or https', async (t) => {
  const clicks = openReaderTokens(keys, 'click');
  const head = Buffer.concat([Buffer.from(emailId.replaceAll('-', ''), 'hex'), Buffer.from([0, 0, 0])]);
  for (const target of ['javascript:alert(1)', '//evil.example', '/path', '']) {
    t.equal(tokens.openClick(clicks.seal(Buffer.concat([head, Buffer.from(target)]))), undefined, target);
  }
});

void t.test('links to the web lead through the service, others stay', async (t) => {
  const html = track(
    '<body><a href="https://shop.example/a?x=1&amp;y=&quot;&#228;">1</a><a class="b" href="http://shop.example/" style="color:red">2</a>' +
      '<a href="mailto:a@example.org">m</a><a href="tel:+49">t</a><a href="#top">f</a><a name="x">n</a>' +
      '<a href="https://mail.example.com/u/abc">unsubscribe</a><a href="https://shop.example/3" data-sealpost-track="off">3</a></body>',
  );
  t.same(
    linksOf(html).map((target) => [target?.recipient, target?.link, target?.url]),
    [
      [1, 0, 'https://shop.example/a?x=1&y=%22%C3%A4'],
      [1, 1, 'http://shop.example/'],
    ],
  );
  t.match(html, '<a class="b" href="https://mail.example.com/t/c/');
  t.match(
    html,
    '" style="color:red">2</a><a href="mailto:a@example.org">m</a><a href="tel:+49">t</a><a href="#top">f</a><a name="x">n</a>',
  );
  t.match(html, '<a href="https://mail.example.com/u/abc">unsubscribe</a><a href="https://shop.example/3">3</a>');
  t.notMatch(html, 'data-sealpost');
});

void t.test('the pixel is the last of the body, and only what is asked for is there', async (t) => {
  const html = '<body><a href="https://shop.example/">x</a></body></html>';
  const pixel =
    /<img src="https:\/\/mail\.example\.com\/t\/o\/[\w-]+" alt="" width="1" height="1" style="[^"]*"><\/body><\/html>$/;
  t.match(track(html), pixel);
  t.equal(track(html, { tracking: { ...both, opens: false, clicks: false } }), html);
  t.same(linksOf(track(html, { tracking: { ...both, clicks: false } })), []);
  t.match(track(html, { tracking: { ...both, clicks: false } }), pixel);
  t.notMatch(track(html, { tracking: { ...both, opens: false } }), '<img');
  t.equal(track(html), track(html));
});

void t.test('no mail passes its bound by it, and none is cut off by Gmail for it', async (t) => {
  const link = '<a href="https://shop.example/">x</a>';
  const html = `<body>${link.repeat(2_000)}</body>`;
  t.ok(html.length < GMAIL_CLIPS_AT_BYTES);
  const tracked = track(html);
  t.ok(Buffer.byteLength(tracked) <= GMAIL_CLIPS_AT_BYTES);
  t.match(tracked, /<img[^>]*><\/body>$/);
  const count = linksOf(tracked).length;
  t.ok(count > 100 && count < 2_000, `${count} links are tracked`);
  const larger = `<body>${link.repeat(4_000)}</body>`;
  const bounded = track(larger, { sizeBytesMax: larger.length + 1_000 });
  t.ok(Buffer.byteLength(bounded) <= larger.length + 1_000);
  t.equal(track(larger, { sizeBytesMax: larger.length }), larger, 'there is no room for anything');
});

void t.test('an address that is too long, or means what is not known here, stays', async (t) => {
  for (const href of [
    `https://shop.example/${'a'.repeat(1_400)}`,
    'https://shop.example/?a&nbsp;b',
    'https://shop.example/?a=1&copy',
  ])
    t.match(track(`<a href="${href}">x</a>`, { tracking: { ...both, opens: false } }), `<a href="${href}">`);
});

const machineOf = (agent: string, address: string): string | undefined =>
  machineOfAgent(agent) ?? machineOfAddress(address);

const agents: Readonly<Record<string, string | undefined>> = {
  'Mozilla/5.0': 'apple-mail-privacy',
  'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)': 'gmail-image-proxy',
  'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html': 'yahoo-image-proxy',
  'Microsoft Office Existence Discovery': 'microsoft-safe-links',
  'Barracuda Sentinel (EE)': 'barracuda',
  'Mozilla/5.0 (compatible; Proofpoint URL Defense)': 'proofpoint',
  'Mimecast/1.0': 'mimecast',
  'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)': 'link-preview',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0 Safari/537.36':
    'headless-browser',
  'curl/8.5.0': 'program',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)': 'crawler',
  '': 'no-user-agent',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)': undefined,
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148':
    undefined,
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Thunderbird/128.4.0': undefined,
  'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; WOW64; Trident/7.0; Microsoft Outlook 16.0)': undefined,
  'Mozilla/4.0 (compatible; ms-office; MSOffice 16)': undefined,
  'Mozilla/4.0 (compatible; ms-office; MSOffice rmj)': undefined,
  'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17328; Pro)': undefined,
  'Mozilla/5.0 (compatible; SafeLinks)': 'microsoft-safe-links',
};

void t.test('machines are told by what they say of themselves, and by where they are', async (t) => {
  for (const [agent, rule] of Object.entries(agents)) t.equal(machineOf(agent, '192.0.2.1'), rule, agent);
  const person =
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36';
  t.equal(machineOf(person, '17.58.1.2'), 'apple-mail-privacy');
  t.equal(machineOf(person, '::ffff:40.94.87.12'), 'microsoft-safe-links');
  t.equal(machineOf(person, '209.222.82.3'), 'barracuda');
  t.equal(machineOf(person, '209.222.88.0'), undefined, 'just beyond the network');
  t.equal(machineOf(person, '2001:db8::1'), undefined);
  t.equal(machineOfAgent(' '), 'no-user-agent');
  t.equal(new Set(machineRules.map(({ name }) => name)).size, machineRules.length, 'each has its name');
});
