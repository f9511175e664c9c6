/** The groups of the sidebar and their order. A page that no group names stands in the last one, so that none is lost. */
import { pageNames, titleOf } from './docs.js';
import { referencePages } from './reference.js';

/** The label of each group and its pages, by their file names without `.md`. */
const groups = {
  Start: ['first-mail', 'promises', 'glossary'],
  Write: ['templates', 'attachments', 'blocks', 'import'],
  Send: ['api', 'api-keys', 'smtp', 'schedules', 'bulk', 'approvals', 'domains', 'relays'],
  Providers: ['relays/ses', 'relays/postmark', 'relays/sendgrid', 'relays/mailgun', 'relays/brevo', 'relays/mailjet'],
  Follow: ['dashboard', 'webhooks', 'bounces', 'timeline', 'tracking', 'analytics'],
  Recipients: ['suppressions', 'unsubscribe', 'privacy', 'retention'],
  Team: ['users', 'sign-in', 'teams', 'permissions', 'oauth', 'credits', 'audit'],
  Programs: ['sdk', 'command-line', 'command-line-remote', 'mcp', 'clients'],
  Operate: ['vps', 'deploy', 'kubernetes', 'operating', 'upgrading', 'performance'],
  Inside: ['architecture', 'development', 'dependencies'],
};

const itemOf = (name) => ({ slug: name, label: titleOf(name) });

const named = Object.values(groups).flat();

const others = pageNames.filter((name) => !named.includes(name) && name !== 'api-errors');

/** The groups with the names of their pages, as the sidebar has them. */
export const groupsOfPages = Object.entries({ ...groups, More: others })
  .map(([label, names]) => ({ label, names: names.filter((name) => pageNames.includes(name)) }))
  .filter(({ names }) => names.length > 0);

export const sidebar = [
  ...groupsOfPages.map(({ label, names }, index) => ({ label, collapsed: index > 2, items: names.map(itemOf) })),
  {
    label: 'API reference',
    collapsed: true,
    items: [
      ...referencePages.map(({ id, label }) => ({ slug: id, label })),
      { slug: 'api-errors', label: titleOf('api-errors') },
    ],
  },
];
