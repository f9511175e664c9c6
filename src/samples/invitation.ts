/** An invitation to work together: who invites, to what, as what, until when; in Arabic everything runs from right to left. */
import { BRAND, emailInLanguages, brandHeader, footerIn, rich, SMALL } from './sample.js';

const en = {
  subject: '{{inviter.name}} invites you to {{workspace.name}}',
  preheader: 'Accept by {{expiresAt}}.',
  title: 'Join {{workspace.name}}',
  intro: '<strong>{{inviter.name}}</strong> ({{inviter.email}}) invites you to work together in <strong>{{workspace.name}}</strong>.',
  role: 'Your role',
  until: 'Valid until',
  accept: 'Accept the invitation',
  address: 'If the button does not work, open this address:',
  ignore: 'If you do not know {{inviter.name}}, ignore this email: nothing happens unless you accept.',
};

const ar: typeof en = {
  subject: 'يدعوك {{inviter.name}} إلى {{workspace.name}}',
  preheader: 'يمكنك القبول حتى {{expiresAt}}.',
  title: 'انضم إلى {{workspace.name}}',
  intro: 'يدعوك <strong>{{inviter.name}}</strong> ({{inviter.email}}) إلى العمل معًا في <strong>{{workspace.name}}</strong>.',
  role: 'دورك',
  until: 'صالحة حتى',
  accept: 'قبول الدعوة',
  address: 'إذا لم يعمل الزر، فافتح هذا العنوان:',
  ignore: 'إذا كنت لا تعرف {{inviter.name}}، فتجاهل هذه الرسالة: لن يحدث شيء ما لم تقبل الدعوة.',
};

const inviter = { name: 'Grace Example', email: 'grace@example.com' };
const workspace = { name: 'Northwind Roastery' };
const rest = { acceptUrl: 'https://app.example.com/invitations/Zk3v-9Qm', expiresAt: '2026-12-05' };

export const invitation = emailInLanguages(
  {
    slug: 'invitation',
    name: 'Invitation',
    description: 'One person invites another to a workspace of your product.',
    locale: 'en-GB',
    exampleVariables: {
      inviter,
      workspace,
      role: 'Editor',
      message: 'We plan the winter menu here, and your notes on water would help us a lot.',
      ...rest,
    },
    examplesIn: {
      ar: {
        inviter: { name: 'سلمى حداد', email: 'salma@example.com' },
        workspace: { name: 'محمصة الشمال' },
        role: 'محرر',
        message: 'نخطط هنا لقائمة الشتاء، وستفيدنا ملاحظاتك عن الماء كثيرًا.',
        ...rest,
      },
    },
  },
  { own: en, others: { ar } },
  (text) => ({
    subject: text.subject,
    variables: [
      {
        name: 'inviter',
        type: 'object',
        required: true,
        description: 'Who invites',
        defaultValue: inviter,
        schema: { type: 'object', properties: { name: { type: 'string', required: true }, email: { type: 'string', required: true } } },
      },
      {
        name: 'workspace',
        type: 'object',
        required: true,
        description: 'To what',
        defaultValue: workspace,
        schema: { type: 'object', properties: { name: { type: 'string', required: true } } },
      },
      { name: 'role', type: 'string', required: true, description: 'As what', defaultValue: 'Editor' },
      { name: 'message', type: 'string', description: 'In the words of who invites; without it the box is left out', defaultValue: '' },
      { name: 'acceptUrl', type: 'string', required: true, description: 'Where the button leads', defaultValue: rest.acceptUrl },
      {
        name: 'expiresAt',
        type: 'date',
        required: true,
        description: 'The last day',
        defaultValue: rest.expiresAt,
        format: { style: 'date', dateStyle: 'long' },
      },
    ],
    schema: {
      props: { preheader: text.preheader, linkColor: BRAND.main },
      sections: [
        brandHeader,
        {
          id: 'main',
          type: 'main',
          components: [
            rich('title', `<h1>${text.title}</h1><p>${text.intro}</p>`),
            {
              id: 'message-box',
              type: 'container',
              props: { backgroundColor: BRAND.pale, borderRadius: 8, padding: '16px 20px', hideWhenEmpty: true },
              children: [rich('message', '<p>{{message}}</p>', { direction: 'auto' })],
            },
            {
              id: 'facts',
              type: 'table',
              props: {
                cellPadding: '8px 0',
                columns: [{ width: '40%' }, { align: 'end' }],
                rows: [
                  [text.role, '<strong>{{role}}</strong>'],
                  [text.until, '<strong>{{expiresAt}}</strong>'],
                ],
              },
            },
            { id: 'accept', type: 'button', content: text.accept, props: { href: '{{acceptUrl}}', fullWidth: true } },
            rich('address', `<p>${text.address}<br><a href="{{acceptUrl}}" dir="ltr">{{acceptUrl}}</a></p>`, SMALL),
            rich('ignore', `<p>${text.ignore}</p>`, SMALL),
          ],
        },
        footerIn({ direction: 'auto' }),
      ],
    },
  }),
);
