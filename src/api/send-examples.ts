/** Example bodies of the send call, one for each sample template of a first start, against which they run as they stand. */
/** By name. */
export type Examples = Readonly<Record<string, Readonly<{ summary: string; value: unknown }>>>;

/** An order, for whatever else takes one. */
export const orderVariables = {
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

/** Who gets the examples. */
export const ada = { email: 'ada@example.com', name: 'Ada Example' };

/** By the names under which the description shows them. */
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
        event: { name: 'Open cupping', startsAt: '2030-02-14T18:30:00Z', venue: 'Northwind Roastery', city: '1200-001 Lisboa' },
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
    summary: 'The same in Arabic, from right to left',
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
