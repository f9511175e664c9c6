/** The letter that goes with an offer: what it comes to, until when it holds, whom to answer. */
import { emailInLanguages } from './languages.js';
import { footerWith, logoHeader, logoVariable, rich, SMALL } from './sample.js';
import { exampleOffer, offerVariables } from './offering.js';

const en = {
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

const de: typeof en = {
  subject: 'Unser Angebot {{offer.number}}: {{offer.title}}',
  preheader: '{{total}}, gültig bis {{offer.validUntil}}.',
  title: '{{offer.title}}',
  greeting: 'Guten Tag {{customer.name}},',
  attached: 'Das vollständige Angebot liegt als PDF bei. In Kürze:',
  number: 'Angebot',
  net: 'Ohne MwSt.',
  total: 'Mit {{offer.taxRate}} MwSt.',
  until: 'Gültig bis',
  accept: 'Per E-Mail annehmen',
  acceptSubject: 'Angebot {{offer.number}} angenommen',
  reply: 'Fragen oder Änderungswünsche? Antworten Sie einfach auf diese Nachricht.',
};

export const offer = emailInLanguages(
  {
    slug: 'offer',
    name: 'Offer',
    description: 'The letter with an offer. Attach offer: it takes the same variables, so both name the same total.',
    locale: 'en-GB',
    timeZone: 'Europe/Lisbon',
    exampleVariables: exampleOffer,
  },
  { own: en, others: { de } },
  (text) => ({
    subject: text.subject,
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
                columns: [{ width: '40%' }, { align: 'end' }],
                rows: [
                  [text.number, '{{offer.number}}'],
                  [text.net, '{{net}}'],
                  [text.total, '<strong>{{total}}</strong>'],
                  [text.until, '<strong>{{offer.validUntil}}</strong>'],
                ],
              },
            },
            { id: 'gap', type: 'spacer', props: { height: 8 } },
            {
              id: 'accept',
              type: 'button',
              content: text.accept,
              props: { href: `mailto:{{author.email}}?subject=${text.acceptSubject}` },
            },
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
  }),
);
