/** The letter that goes with an offer: what it comes to, until when it holds, whom to answer. */
import { footerWith, logoHeader, logoVariable, rich, SMALL, type SampleTemplate } from './sample.js';
import { exampleOffer, offerVariables } from './offering.js';

const text = {
  subject: 'Our offer {{offer.number}}: {{offer.title}}',
  preheader: '{{total}}, valid until {{offer.validUntil}}.',
  title: '{{offer.title}}',
  greeting: 'Hello {{customer.name}},',
  attached: 'The whole offer is attached as a PDF. In short:',
  number: 'Offer',
  net: 'Without VAT',
  total: 'With {{offer.taxRate}} VAT',
  until: 'Valid until',
  accept: 'Accept by email',
  acceptSubject: 'Offer {{offer.number}} accepted',
  reply: 'Questions, or something to change? Just reply to this email.',
};

export const offer: SampleTemplate = {
  slug: 'offer',
  name: 'Offer',
  description: 'The letter with an offer. Attach offer: it takes the same variables, so both name the same total.',
  subject: text.subject,
  locale: 'en-GB',
  timeZone: 'Europe/Lisbon',
  variables: [...offerVariables, logoVariable],
  schema: {
    props: { preheader: text.preheader, linkColor: '#0f766e' },
    sections: [
      logoHeader,
      {
        id: 'main',
        type: 'main',
        components: [
          rich('title', `<h1>${text.title}</h1><p>${text.greeting}</p><p>{{offer.intro}}</p><p>${text.attached}</p>`, {
            hideWhenEmpty: 'lines',
          }),
          {
            id: 'facts',
            type: 'table',
            props: {
              cellPadding: '8px 0',
              columns: [{ width: '50%' }, { align: 'end' }],
              rows: [
                [text.number, '{{offer.number}}'],
                [text.net, '{{net}}'],
                [text.total, '<strong>{{total}}</strong>'],
                [text.until, '<strong>{{offer.validUntil}}</strong>'],
              ],
            },
          },
          { id: 'gap', type: 'spacer', props: { height: 8 } },
          { id: 'accept', type: 'button', content: text.accept, props: { href: `mailto:{{author.email}}?subject=${text.acceptSubject}` } },
          rich('reply', `<p>${text.reply}</p>`),
          rich('author', '<p><strong>{{author.name}}</strong><br>{{author.role}}<br>{{author.email}}<br>{{author.phone}}</p>', {
            ...SMALL,
            hideWhenEmpty: 'lines',
          }),
        ],
      },
      footerWith(),
    ],
  },
  exampleVariables: exampleOffer,
};
