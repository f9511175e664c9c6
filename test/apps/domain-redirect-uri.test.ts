/** Addresses to which apps may send people back. */
import t from 'tap';
import { redirectUriFault } from '../../src/domain/apps/app.js';

void t.test('https anywhere, http on the same machine', async (t) => {
  for (const good of [
    'https://shop.example.com/callback',
    'https://shop.example.com/',
    'https://shop.example.com:8443/callback?tenant=1',
    'http://localhost:3000/callback',
    'http://127.0.0.1/callback',
    'http://[::1]:9000/',
  ]) {
    t.equal(redirectUriFault(good), undefined, good);
  }
});

void t.test('nothing that could be read in two ways', async (t) => {
  for (const [bad, message] of [
    ['/callback', /absolute URL/],
    ['', /absolute URL/],
    ['http://shop.example.com/callback', /https/],
    ['http://127.0.0.1.example.com/', /https/],
    ['javascript:alert(1)', /https/],
    ['data:text/html,hello', /https/],
    ['com.example.app:/callback', /https/],
    ['https://user@shop.example.com/', /user name/],
    ['https://shop.example.com@evil.example/', /user name/],
    ['https://:secret@shop.example.com/', /user name/],
    ['https://shop.example.com/callback#part', /fragment/],
    ['https://shop.example.com/callback#', /fragment/],
    ['https://*.example.com/callback', /\*/],
    ['https://SHOP.example.com/callback', /must be written as browsers read it: https:\/\/shop/],
    ['https://shop.example.com:443/callback', /must be written as browsers read it/],
    ['https://shop.example.com/a/../callback', /must be written as browsers read it/],
    ['https://shop.example.com\\@evil.example/', /must be written as browsers read it|user name/],
    ['https://%73hop.example.com/', /must be written as browsers read it/],
    ['https://shop.example.com', /must be written as browsers read it/],
    [' https://shop.example.com/', /must be written as browsers read it/],
  ] as const) {
    t.match(redirectUriFault(bad), message, bad);
  }
});
