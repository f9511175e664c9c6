/**
 * Example bodies of the API description. Those of the send call have one for each sample template of a first start, and
 * run as they are.
 */
import type { TrackingSettings } from './recipients.js';

/** Examples by their name in the API description. */
type Examples = Readonly<Record<string, Readonly<{ summary: string; value: unknown }>>>;

/** An order, which several examples use. */
const orderVariables = {
  customer: { firstName: 'Ada' },
  order: {
    number: 'NW-10482',
    placedAt: '2030-01-31T09:30:00Z',
    currency: 'EUR',
    taxRate: 0.23,
    items: [
      { name: 'Ceramic mug', variant: 'Sage green', quantity: 2, price: 11.5 },
      { name: 'Pour-over kettle', quantity: 1, price: 54.9 },
    ],
    shipping: 4.9,
    shippingAddress: { name: 'Ada Example', street: 'Rua das Flores 12', city: '1200-195 Lisboa', country: 'Portugal' },
    delivery: { method: 'Standard delivery', from: '2030-02-04', to: '2030-02-06' },
    trackingUrl: 'https://shop.example.com/orders/NW-10482',
  },
};

/** The recipient of the examples. */
const ada = { email: 'ada@example.com', name: 'Ada Example' };

/** Bodies of the send call. */
export const sendExamples: Examples = {
  orderConfirmation: {
    summary: 'An order confirmation with two items',
    value: {
      templateId: 'order-confirmation',
      to: [ada],
      variables: orderVariables,
      tags: ['order'],
      metadata: { orderId: 'NW-10482' },
    },
  },
  signInCode: {
    summary: 'A sign-in code, ahead of other mail',
    value: {
      templateId: 'sign-in-code',
      to: [ada],
      variables: { code: '482 913', firstName: 'Ada', minutesValid: 10 },
      priority: 'high',
    },
  },
  shippingNotice: {
    summary: 'A parcel is on its way',
    value: {
      templateId: 'shipping-notice',
      to: [ada],
      variables: {
        orderNumber: 'NW-10482',
        parcel: {
          trackingNumber: 'LX447109328814',
          carrier: 'Lisbon Express',
          arrivesOn: '2030-02-05',
          trackingUrl: 'https://track.example.com/LX447109328814',
        },
        recipient: { name: 'Ada Example', street: 'Rua das Flores 12', city: '1200-195 Lisboa', country: 'Portugal' },
        steps: [
          { name: 'Packed', at: '2030-02-03T08:10:00Z', state: 'completed' },
          { name: 'On its way', state: 'current' },
        ],
        contents: [{ name: 'Ceramic mug', quantity: 2 }],
      },
    },
  },
  offer: {
    summary: 'The letter with an offer',
    value: {
      templateId: 'offer',
      to: [ada],
      variables: {
        customer: { name: 'Ada Example' },
        offer: {
          number: 'A-2030-0093',
          title: 'Coffee for your new café',
          date: '2030-01-31',
          validUntil: '2030-02-28',
          currency: 'EUR',
          taxRate: 0.23,
          items: [{ name: 'Grinder', variant: '64 mm, quiet', quantity: 2, price: 690 }],
        },
        author: { name: 'Grace Example', email: 'grace@example.com' },
      },
    },
  },
  ticket: {
    summary: 'Tickets, with a QR code for each who comes',
    value: {
      templateId: 'ticket',
      to: [ada],
      variables: {
        event: {
          name: 'Open cupping',
          startsAt: '2030-02-14T18:30:00Z',
          venue: 'Northwind Roastery',
          city: '1200-001 Lisboa',
        },
        tickets: [{ code: 'OC-8F3A-27QX', holder: 'Ada Example', seat: 'Table 2, seat 5' }],
      },
    },
  },
  monthlyReport: {
    summary: 'A monthly report, behind other mail',
    value: {
      templateId: 'monthly-report',
      to: [ada],
      variables: {
        report: { title: 'Sales in January 2030', month: '2030-01-01' },
        weeks: [{ week: 'Week 1', online: 18_420, shops: 12_980, returns: 940 }],
        groups: [{ name: 'Coffee', revenue: 30_460, before: 28_900 }],
      },
      priority: 'low',
    },
  },
  passwordReset: {
    summary: 'A link by which a user of yours chooses a new password',
    value: {
      templateId: 'password-reset',
      to: [ada],
      variables: { resetUrl: 'https://app.example.com/reset?token=Zk3v-9QmTq7w', firstName: 'Ada', minutesValid: 30 },
      priority: 'high',
    },
  },
  invitation: {
    summary: 'An invitation into a workspace of your product',
    value: {
      templateId: 'invitation',
      to: [ada],
      variables: {
        inviter: { name: 'Grace Example', email: 'grace@example.com' },
        workspace: { name: 'Northwind Roastery' },
        role: 'Editor',
        acceptUrl: 'https://app.example.com/invitations/Zk3v-9Qm',
        expiresAt: '2030-02-14',
      },
    },
  },
  invitationInArabic: {
    summary: 'The email in Arabic, from right to left',
    value: {
      templateId: 'invitation',
      locale: 'ar',
      to: [ada],
      variables: {
        inviter: { name: 'سلمى حداد', email: 'salma@example.com' },
        workspace: { name: 'محمصة الشمال' },
        role: 'محرر',
        acceptUrl: 'https://app.example.com/invitations/Zk3v-9Qm',
        expiresAt: '2030-02-14',
      },
    },
  },
};

export const bulkDeleteExamples: Examples = {
  filter: {
    summary: 'Failed emails of before February 2030',
    value: { status: 'failed', before: '2030-02-01T00:00:00Z' },
  },
  ids: { summary: 'Exactly these emails', value: { ids: ['0192f0c1-2f6e-7c3a-9d1b-5e8a7c6b4d21'] } },
};

export const rescheduleExamples: Examples = {
  later: { summary: 'Half past nine in Berlin, in winter', value: { scheduledAt: '2030-01-31T09:30:00+01:00' } },
};

export const resendExamples: Examples = {
  again: { summary: 'The same mail to the same people', value: {} },
  other: { summary: 'To another address', value: { to: [{ email: 'jane.roe@example.com' }] } },
};

export const testTemplateExamples: Examples = {
  mine: { summary: 'The draft, to the person who calls', value: {} },
  version: { summary: 'Version 3 in German', value: { version: 3, locale: 'de-DE' } },
};

export const retryManyExamples: Examples = {
  waiting: { summary: 'Everything that waits', value: {} },
  failed: {
    summary: 'Failed emails to one domain since 1 January 2030',
    value: { status: 'failed', domain: 'example.com', startDate: '2030-01-01T00:00:00Z' },
  },
};

const welcome = {
  slug: 'welcome',
  name: 'Welcome',
  subject: 'Welcome, {{name}}',
  variables: [{ name: 'name', type: 'string', required: true, defaultValue: 'Jane' }],
  schema: {
    sections: [
      {
        id: 'main',
        type: 'main',
        components: [
          { id: 'greeting', type: 'rich-text', content: '<h1>Welcome, {{name}}</h1><p>Good to have you with us.</p>' },
          { id: 'start', type: 'button', content: 'Start here', props: { href: 'https://example.com/start' } },
        ],
      },
    ],
  },
};

export const createTemplateExamples: Examples = {
  welcome: { summary: 'A greeting with a button, published at once', value: { ...welcome, publish: true } },
};

export const importTemplateExamples: Examples = {
  welcome: {
    summary: 'A template that was exported elsewhere',
    value: { ...welcome, type: 'email', status: 'published', version: 3 },
  },
};

export const updateTemplateExamples: Examples = {
  subject: { summary: 'Another subject', value: { subject: 'Hello {{name}}, welcome' } },
};

const deliveryNote = {
  slug: 'delivery-note',
  name: 'Delivery note',
  variables: [
    { name: 'number', type: 'string', required: true, defaultValue: 'NW-10482' },
    { name: 'items', type: 'array', defaultValue: [{ name: 'Ceramic mug', quantity: 2 }] },
  ],
  schema: {
    outputFormats: ['pdf', 'excel'],
    pages: [
      {
        pageId: 'note',
        pageName: 'Delivery note',
        pageSettings: { format: 'A5', orientation: 'landscape' },
        sections: [
          {
            id: 'main',
            type: 'main',
            components: [
              { id: 'title', type: 'rich-text', content: '<h1>Delivery note {{number}}</h1>' },
              {
                id: 'items',
                type: 'table',
                props: {
                  dataSource: '{{items}}',
                  columns: [
                    { header: 'Item', content: '{{item.name}}' },
                    { header: 'Quantity', content: '{{item.quantity}}', align: 'right' },
                  ],
                },
              },
            ],
          },
        ],
      },
    ],
  },
};

export const createAttachmentTemplateExamples: Examples = {
  deliveryNote: {
    summary: 'A delivery note as PDF and as workbook, published at once',
    value: { ...deliveryNote, publish: true },
  },
};

export const importAttachmentTemplateExamples: Examples = {
  deliveryNote: {
    summary: 'A template that was exported elsewhere',
    value: { ...deliveryNote, type: 'attachment', outputFormats: ['pdf', 'excel'], status: 'published', version: 3 },
  },
};

const legalFooter = {
  slug: 'legal-footer',
  name: 'Legal footer',
  variables: [{ name: 'reason', type: 'string', defaultValue: 'You have an account with us.' }],
  schema: {
    components: [
      { id: 'legal', type: 'rich-text', content: '<p>{{__COMPANY_NAME__}}, {{__COMPANY_CITY__}}. {{reason}}</p>' },
    ],
  },
};

export const createBlockExamples: Examples = {
  footer: { summary: 'A footer for all mails, published at once', value: { ...legalFooter, publish: true } },
};

export const importBlockExamples: Examples = {
  footer: {
    summary: 'A block that was exported elsewhere',
    value: {
      ...legalFooter,
      type: 'block',
      outputs: ['email', 'pdf'],
      isLayout: false,
      status: 'published',
      version: 3,
    },
  },
};

export const publishBlockExamples: Examples = {
  force: { summary: 'Although templates that follow it break', value: { force: true } },
};

export const updateBlockExamples: Examples = {
  name: { summary: 'Another name', value: { name: 'Footer with legal lines' } },
};

export const restoreTemplateExamples: Examples = {
  otherSlug: { summary: 'Under another slug, where the former is taken by now', value: { slug: 'welcome-again' } },
};

export const updateAttachmentTemplateExamples: Examples = {
  name: { summary: 'Another name', value: { name: 'Packing slip' } },
};

export const documentPreviewExamples: Examples = {
  workbook: { summary: 'The workbook of the draft', value: { variables: { number: '2030-17' }, format: 'excel' } },
};

export const previewExamples: Examples = {
  order: { summary: 'The order confirmation for given variables', value: { variables: orderVariables } },
  defaults: { summary: 'The draft with default values', value: { version: 'draft' } },
};

export const convertExamples: Examples = {
  sendgrid: {
    summary: 'A mail of SendGrid',
    value: {
      source:
        '<html><body><h1>Hello {{name}}</h1>{{#if isNew}}<p>Good to have you here.</p>{{/if}}{{> footer}}</body></html>',
      subject: 'Welcome, {{name}}',
      variables: { name: 'Ada', isNew: true },
    },
  },
};

export const unsavedTemplateExamples: Examples = {
  writing: {
    summary: 'A template whose button has no address yet',
    value: {
      template: {
        name: 'Welcome',
        subject: 'Welcome, {{name}}',
        variables: [{ name: 'name', type: 'string', defaultValue: 'Ada' }],
        schema: {
          sections: [
            {
              id: 'main',
              type: 'main',
              components: [
                { id: 'greeting', type: 'rich-text', content: '<p>Hello {{name}}</p>' },
                { id: 'start', type: 'button', content: 'Start', props: {} },
              ],
            },
          ],
        },
      },
      marks: true,
    },
  },
};

export const unsavedBlockExamples: Examples = {
  footer: {
    summary: 'A block with the address of the company',
    value: {
      block: {
        name: 'Footer',
        schema: { components: [{ id: 'address', type: 'rich-text', content: '<p>{{__COMPANY_NAME__}}</p>' }] },
      },
    },
  },
};

export const unsavedAttachmentExamples: Examples = {
  page: {
    summary: 'An attachment template of one page',
    value: {
      template: {
        name: 'Receipt',
        variables: [{ name: 'number', type: 'string', defaultValue: '2030-17' }],
        schema: {
          outputFormats: ['pdf'],
          pages: [
            {
              pageId: 'page',
              pageName: 'Receipt',
              sections: [
                {
                  id: 'body',
                  type: 'body',
                  components: [{ id: 'title', type: 'rich-text', content: '<h1>Receipt {{number}}</h1>' }],
                },
              ],
            },
          ],
        },
      },
      format: 'pdf',
    },
  },
};

export const createAssetExamples: Examples = {
  dot: {
    summary: 'A picture of one pixel',
    value: {
      filename: 'dot.png',
      content: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
    },
  },
};

export const createApiKeyExamples: Examples = {
  sender: {
    summary: 'A key that sends and reads',
    value: { name: 'shop backend', permissions: ['emails:send', 'emails:read'], rateLimit: 600 },
  },
  test: {
    summary: 'A test key: nothing leaves of what it sends',
    value: { name: 'staging', permissions: ['emails:send', 'emails:read'], test: true },
  },
  fromOneNetwork: {
    summary: 'A key that is good from the shop’s own networks alone',
    value: { name: 'shop backend', permissions: ['emails:send'], networks: ['192.0.2.0/24', '2001:db8:17::/48'] },
  },
};

export const changeApiKeyExamples: Examples = {
  anotherNetwork: { summary: 'From another address from now on', value: { networks: ['203.0.113.7'] } },
  fromAnywhere: { summary: 'From anywhere, with the default limits', value: { networks: null, rateLimit: null } },
};

const orderOf = (number: string) => ({ order: { ...orderVariables.order, number } });

export const sendEmailsExamples: Examples = {
  twoTemplates: {
    summary: 'An order confirmation, and a sign-in code for somebody else',
    value: {
      emails: [
        { templateId: 'order-confirmation', to: [ada], variables: orderVariables, tags: ['order'] },
        {
          templateId: 'sign-in-code',
          to: [{ email: 'ben@example.com' }],
          variables: { code: '482 913', firstName: 'Ben', minutesValid: 10 },
          priority: 'high',
        },
      ],
    },
  },
  allOrNone: {
    summary: 'Two emails of one order: both, or none',
    value: {
      emails: [
        { templateId: 'order-confirmation', to: [ada], variables: orderVariables },
        {
          content: { subject: 'New order NW-10482', html: '<p>Ada ordered two mugs and a kettle.</p>' },
          to: [{ email: 'shop@example.com' }],
        },
      ],
      allOrNone: true,
    },
  },
};

export const bulkExamples: Examples = {
  orderConfirmations: {
    summary: 'Two order confirmations',
    value: {
      templateId: 'order-confirmation',
      batchName: 'Orders of this morning',
      baseVariables: orderVariables,
      recipients: [
        { ...ada, variables: orderOf('NW-10482') },
        { email: 'ben@example.com', variables: { customer: { firstName: 'Ben' }, ...orderOf('NW-10483') } },
      ],
      tags: ['order'],
    },
  },
  dryRun: {
    summary: 'Result of such a call, without sending',
    value: {
      templateId: 'order-confirmation',
      baseVariables: orderVariables,
      recipients: [ada, { email: 'not an address' }],
      dryRun: true,
    },
  },
};

export const addSuppressionExamples: Examples = {
  address: { summary: 'An address that is not to be written to', value: { email: 'gone@example.com' } },
};

export const addCreditsExamples: Examples = {
  grant: { summary: 'Credits that are given', value: { credits: 500, note: 'for a test' } },
  blocks: { summary: 'Seven blocks that were paid elsewhere', value: { blocks: 7, note: 'invoice 2030-17' } },
};

export const addDomainExamples: Examples = { domain: { summary: 'A domain', value: { domain: 'example.com' } } };

export const trackingDomainExamples: Examples = {
  links: { summary: 'A name for links', value: { trackingDomain: 'links.example.com' } },
};

export const createWebhookExamples: Examples = {
  deliveries: {
    summary: 'Events of each mail',
    value: {
      url: 'https://shop.example.com/hooks/mail',
      events: ['email.delivered', 'email.bounced', 'email.complained'],
    },
  },
};

export const updateWebhookExamples: Examples = {
  pause: { summary: 'Pause the subscription until it is enabled again', value: { enabled: false } },
};

export const rotateSecretExamples: Examples = {
  day: { summary: 'Both secrets sign for a day', value: { overlapHours: 24 } },
};

export const replayWebhookExamples: Examples = {
  bounces: {
    summary: 'The bounces since a moment',
    value: { since: '2030-01-31T09:00:00Z', events: ['email.bounced'] },
  },
};

/** A delivery report (RFC 3464) as a mail server sends it. */
export const feedbackExamples = {
  bounce: {
    summary: 'A mailbox that does not exist',
    value: [
      'From: MAILER-DAEMON@mx.example.net',
      'To: bounce+aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@bounces.example.com',
      'MIME-Version: 1.0',
      'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
      '',
      '--b',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.example.net',
      '',
      'Final-Recipient: rfc822; ada@example.com',
      'Action: failed',
      'Status: 5.1.1',
      'Diagnostic-Code: smtp; 550 5.1.1 user unknown',
      '',
      '--b--',
      '',
    ].join('\r\n'),
  },
} as const;

export const providerEventExamples: Examples = {
  postmark: {
    summary: 'Postmark: a delivery',
    value: {
      RecordType: 'Delivery',
      MessageID: '883953f4-6105-42a2-a16a-77a8eac79483',
      Recipient: 'ada@example.com',
      Metadata: { sealpost: '0198f000-0000-7000-8000-00000000000a' },
      DeliveredAt: '2026-11-22T20:40:00.000Z',
      Details: 'smtp;250 2.0.0 OK',
    },
  },
};

export const addressExamples: Examples = {
  address: { summary: 'The address of somebody who asked for it', value: { email: 'ada@example.com' } },
};

export const trackingExamples = {
  clicks: { summary: 'Clicks alone', value: { opens: false, clicks: true } satisfies TrackingSettings },
};

export const approveExamples: Examples = {
  shown: {
    summary: 'What the person looked at',
    value: { digest: '3f0c9a4be7d15c86a1f2b7708d4e96325cb1a0f47e6d83920c5fb8e7a6149d02' },
  },
};

export const rejectExamples: Examples = {
  recipient: { summary: 'It would go to the wrong people', value: { reason: 'recipient' } },
};

export const registrationExamples: Examples = {
  editor: {
    summary: 'An editor on the machine of a person',
    value: {
      client_name: 'My editor',
      redirect_uris: ['http://127.0.0.1:33418/'],
      scope: 'emails:read templates:read',
    },
  },
};
