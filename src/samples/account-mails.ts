/** Mails about accounts, which the service itself sends: the first team may edit them, and one that it deletes is made again at the next start. */
import type { JsonObject } from '../domain/core/json.js';
import type { Component } from '../domain/rendering/content.js';
import type { VariableDefinition } from '../domain/rendering/scope/definitions.js';
import { BRAND, brandHeader, footerWith, rich, SMALL, type SampleTemplate } from './sample.js';

type Mail = Readonly<{
  kind: string;
  name: string;
  description: string;
  subject: string;
  title: string;
  /** `intro` and `outro`: HTML before and after the button. */
  intro: string;
  button?: string;
  outro: string;
  variables: readonly VariableDefinition[];
  exampleVariables: JsonObject;
}>;

const url: VariableDefinition = { name: 'url', type: 'string', required: true, description: 'Where the button leads' };
const named: VariableDefinition = { name: 'name', type: 'string', description: 'The name of the person', defaultValue: '' };
const when: VariableDefinition = { name: 'when', type: 'string', required: true, description: 'Day and time, in UTC' };
const hours: VariableDefinition = { name: 'hoursValid', type: 'number', required: true, description: 'Lifetime of the link in hours' };

const templateOf = ({ kind, title, intro, button, outro, variables, ...said }: Mail): SampleTemplate => ({
  slug: `account-${kind}`,
  name: said.name,
  description: said.description,
  subject: said.subject,
  variables: [...variables],
  schema: {
    props: { linkColor: BRAND.main },
    sections: [
      brandHeader,
      {
        id: 'main',
        type: 'main',
        components: [
          rich('title', `<h1>${title}</h1>`),
          rich('intro', intro),
          ...(button === undefined
            ? []
            : [
                { id: 'follow', type: 'button', content: button, props: { href: '{{url}}', fullWidth: true } } satisfies Component,
                rich('address', '<p>If the button does not work, open this address: {{url}}</p>', SMALL),
              ]),
          rich('outro', outro, SMALL),
        ],
      },
      footerWith(),
    ],
  },
  exampleVariables: said.exampleVariables,
});

const example = 'https://mail.example.com/account/verify?token=Zk3v9Qm';

const mails: readonly Mail[] = [
  {
    kind: 'verify-address',
    name: 'Account: verify the address',
    description: 'To somebody who registered: the link by which the address is verified.',
    subject: 'Verify your address for {{__COMPANY_NAME__}}',
    title: 'Verify your address',
    intro: '<p>Welcome, {{name}}. Follow this link to verify your address. The page asks for your password; then you can sign in.</p>',
    button: 'Verify the address',
    outro:
      '<p>The link is valid for {{hoursValid}} hours. If you did not register, ignore this email: nothing happens unless the link is used.</p>',
    variables: [named, url, hours],
    exampleVariables: { name: 'Ada', url: example, hoursValid: 24 },
  },
  {
    kind: 'address-in-use',
    name: 'Account: the address is in use',
    description: 'To a user whose address somebody tried to use for another account.',
    subject: 'You already have an account at {{__COMPANY_NAME__}}',
    title: 'You already have an account',
    intro:
      '<p>Someone, perhaps you, tried to use this address for another account. It already belongs to yours: sign in with your password, or reset it if you have forgotten it.</p>',
    outro: '<p>If it was not you, you do not need to do anything: nothing was changed.</p>',
    variables: [],
    exampleVariables: {},
  },
  {
    kind: 'reset-password',
    name: 'Account: choose another password',
    description: 'To a user who forgot the password: the link by which another is chosen.',
    subject: 'Choose another password for {{__COMPANY_NAME__}}',
    title: 'Choose another password',
    intro: '<p>Hello {{name}}, follow this link to choose another password.</p>',
    button: 'Choose a password',
    outro:
      '<p>The link is valid for {{hoursValid}} hours and works once. If you did not ask for it, ignore this email: your password stays as it is.</p>',
    variables: [named, url, hours],
    exampleVariables: { name: 'Ada', url: example, hoursValid: 1 },
  },
  {
    kind: 'change-address',
    name: 'Account: confirm the new address',
    description: 'To the new address of a user: the link by which it becomes theirs.',
    subject: 'Confirm your new address for {{__COMPANY_NAME__}}',
    title: 'Confirm your new address',
    intro: '<p>Hello {{name}}, follow this link to sign in with this address from now on.</p>',
    button: 'Confirm the address',
    outro:
      '<p>The link is valid for {{hoursValid}} hours. If you did not ask for it, ignore this email: nothing happens unless the link is used.</p>',
    variables: [named, url, hours],
    exampleVariables: { name: 'Ada', url: example, hoursValid: 24 },
  },
  {
    kind: 'address-change-asked',
    name: 'Account: another address was asked for',
    description: 'To the address of a user who asked for another one, before anything is changed.',
    subject: 'Another address for your account at {{__COMPANY_NAME__}}',
    title: 'Another address was asked for',
    intro:
      '<p>Hello {{name}}, someone who is signed in as you and knows your password asked to change the address of your account. A link was sent to the new address; following it within {{hoursValid}} hours makes the change.</p>',
    outro:
      '<p>If it was you, you do not need to do anything. If not, choose another password at once: that ends every session and stops the change.</p>',
    variables: [named, hours],
    exampleVariables: { name: 'Ada', hoursValid: 24 },
  },
  {
    kind: 'address-changed',
    name: 'Account: the address was changed',
    description: 'To the address that a user had before.',
    subject: 'Your address at {{__COMPANY_NAME__}} was changed',
    title: 'Your address was changed',
    intro: '<p>Hello {{name}}, the address of your account was changed. This address no longer signs you in.</p>',
    outro: '<p>If this was not you, ask the people who run {{__COMPANY_NAME__}} for help at once.</p>',
    variables: [named],
    exampleVariables: { name: 'Ada' },
  },
  {
    kind: 'password-changed',
    name: 'Account: the password was changed',
    description: 'To a user whose password was changed or chosen anew.',
    subject: 'Your password for {{__COMPANY_NAME__}} was changed',
    title: 'Your password was changed',
    intro: '<p>Hello {{name}}, the password of your account was changed on {{when}}. Use the new one from now on.</p>',
    outro: '<p>If this was not you, reset your password at once: that ends every session.</p>',
    variables: [named, when],
    exampleVariables: { name: 'Ada', when: '2030-01-01 12:00 UTC' },
  },
  {
    kind: 'second-factor-on',
    name: 'Account: a second factor was set up',
    description: 'To a user who is asked for a code beside the password from now on.',
    subject: 'A second factor for your account at {{__COMPANY_NAME__}}',
    title: 'A second factor was set up',
    intro:
      '<p>Hello {{name}}, a second factor was set up for your account on {{when}}: signing in takes its code as well as the password.</p>',
    outro: '<p>If this was not you, ask the people who run {{__COMPANY_NAME__}} for help at once.</p>',
    variables: [named, when],
    exampleVariables: { name: 'Ada', when: '2030-01-01 12:00 UTC' },
  },
  {
    kind: 'second-factor-off',
    name: 'Account: the second factor was removed',
    description: 'To a user who is not asked for a code any more.',
    subject: 'The second factor of your account at {{__COMPANY_NAME__}} was removed',
    title: 'The second factor was removed',
    intro: '<p>Hello {{name}}, the second factor of your account was removed on {{when}}: the password alone signs you in.</p>',
    outro: '<p>If this was not you, choose another password at once and set up a second factor again.</p>',
    variables: [named, when],
    exampleVariables: { name: 'Ada', when: '2030-01-01 12:00 UTC' },
  },
  {
    kind: 'new-sign-in',
    name: 'Account: a sign-in from a new place',
    description: 'To a user who signed in from a network, or by a device, that was not seen before.',
    subject: 'A new sign-in to your account at {{__COMPANY_NAME__}}',
    title: 'You signed in from a new place',
    intro:
      '<p>Hello {{name}}, someone signed in to your account on {{when}} from a network or with a device that was not seen before: from {{network}}, with {{device}}.</p>',
    outro: '<p>If it was you, you do not need to do anything. If not, choose another password at once: that ends every session.</p>',
    variables: [
      named,
      when,
      { name: 'network', type: 'string', required: true, description: 'The address from which it came' },
      { name: 'device', type: 'string', description: 'What the program says of itself', defaultValue: 'an unnamed program' },
    ],
    exampleVariables: { name: 'Ada', when: '2030-01-01 12:00 UTC', network: '192.0.2.7', device: 'Firefox on Linux' },
  },
  {
    kind: 'invitation',
    name: 'Account: invitation into a team',
    description: 'To somebody who is invited into a team: the link by which they accept.',
    subject: 'An invitation to a team at {{__COMPANY_NAME__}}',
    title: 'You are invited to {{team}}',
    intro: '<p>{{inviter}} invites you to join the team {{team}} with the role {{role}}.</p>',
    button: 'See the invitation',
    outro: '<p>The invitation is valid for {{daysValid}} days. If you do not know what this is about, ignore this email.</p>',
    variables: [
      url,
      { name: 'team', type: 'string', required: true, description: 'The name of the team' },
      { name: 'inviter', type: 'string', required: true, description: 'Who invites' },
      { name: 'role', type: 'string', required: true, description: 'The role in the team' },
      { name: 'daysValid', type: 'number', required: true, description: 'Lifetime of the invitation in days' },
    ],
    exampleVariables: { url: example, team: 'Shop', inviter: 'Ada Example', role: 'member', daysValid: 7 },
  },
  {
    kind: 'webhook-disabled',
    name: 'Account: a webhook was disabled',
    description: 'To the owners of a team: a subscription gets no webhooks any more, because its endpoint is gone or takes nothing.',
    subject: 'One of your webhooks at {{__COMPANY_NAME__}} was disabled',
    title: 'A webhook was disabled',
    intro: '<p>The webhook subscription {{subscription}} of the team {{team}}, which posts to {{endpoint}}, was disabled. {{why}}</p>',
    outro: '<p>When the endpoint works again, enable the subscription and ask for a replay of what it missed: the log keeps it.</p>',
    variables: [
      { name: 'team', type: 'string', required: true, description: 'The name of the team' },
      { name: 'subscription', type: 'string', required: true, description: 'The id of the subscription' },
      { name: 'endpoint', type: 'string', required: true, description: 'Scheme and host of the endpoint' },
      { name: 'why', type: 'string', required: true, description: 'A sentence that says why' },
    ],
    exampleVariables: {
      team: 'Shop',
      subscription: 'wh_5f0c2d7e9a1b4c3d8e6f7a9b',
      endpoint: 'https://shop.example.com',
      why: 'For five days it has taken nothing of what was sent to it.',
    },
  },
  {
    kind: 'log-sealed',
    name: 'Account: the seal of the day',
    description:
      'To the address in SEALPOST_SEAL_MAIL, once on each day with work: a seal over the log, to be kept where nobody of the service can change it.',
    subject: 'The log of {{__COMPANY_NAME__}} was sealed',
    title: 'The log was sealed',
    intro: '<p>Keep this mail. It proves what the log of the service was at {{at}}:</p><p>{{position}}:{{root}}</p>',
    outro: '<p>sealpost verify --root {{position}}:{{root}} says whether the log still has what it had then.</p>',
    variables: [
      { name: 'at', type: 'string', required: true, description: 'Day and time, in UTC' },
      { name: 'position', type: 'number', required: true, description: 'The position up to which the seal reaches' },
      { name: 'root', type: 'string', required: true, description: 'The root of the seal, in hex' },
    ],
    exampleVariables: {
      at: '2030-01-31 12:00 UTC',
      position: 59,
      root: '9f86b858887ccb9f32e0f080e94af265fc621c9c4067ddf016e6c2a8e0ceeaf1',
    },
  },
];

export const accountTemplates: readonly SampleTemplate[] = mails.map(templateOf);
