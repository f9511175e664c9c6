/** A code to sign in with: short, readable at a glance, safe to forward to nobody. */
import { brandHeader, footerWith, type SampleTemplate } from './sample.js';

export const signInCode: SampleTemplate = {
  slug: 'sign-in-code',
  name: 'Sign-in code',
  description: 'A one-time code with its lifetime, and what to do when one did not ask for it.',
  subject: '{{code}} is your {{__COMPANY_NAME__}} sign-in code',
  variables: [
    { name: 'code', type: 'string', required: true, description: 'The code, as it is typed', defaultValue: '482 913' },
    { name: 'firstName', type: 'string', description: 'Greets by name where it is given', defaultValue: '' },
    { name: 'minutesValid', type: 'number', description: 'Lifetime of the code in minutes', defaultValue: 10 },
    { name: 'signInUrl', type: 'string', description: 'Signs in with one click; without it there is no button', defaultValue: '' },
    { name: 'device', type: 'string', description: 'Browser and place of the attempt', defaultValue: '' },
  ],
  schema: {
    props: { preheader: 'Valid for {{minutesValid}} minutes. Do not share it with anyone.' },
    sections: [
      brandHeader,
      {
        id: 'main',
        type: 'main',
        components: [
          { id: 'title', type: 'rich-text', content: '<h1>Your sign-in code</h1>' },
          {
            id: 'named',
            type: 'conditional',
            props: { condition: 'firstName', operator: 'isEmpty' },
            children: [
              {
                id: 'intro',
                type: 'rich-text',
                content: '<p>Enter this code to finish signing in. It is valid for {{minutesValid}} minutes.</p>',
              },
            ],
            elseChildren: [
              {
                id: 'intro-named',
                type: 'rich-text',
                content: '<p>Hi {{firstName}}, enter this code to finish signing in. It is valid for {{minutesValid}} minutes.</p>',
              },
            ],
          },
          {
            id: 'code-box',
            type: 'container',
            props: { backgroundColor: '#f3f4f6', borderRadius: 8, padding: '20px 16px', align: 'center' },
            children: [
              {
                id: 'code',
                type: 'rich-text',
                content: '<span style="letter-spacing:6px;font-weight:700">{{code}}</span>',
                props: { align: 'center', fontSize: 34, lineHeight: 1.2, fontFamily: "Consolas, Menlo, 'Courier New', monospace" },
              },
            ],
          },
          {
            id: 'one-click',
            type: 'conditional',
            props: { condition: 'signInUrl', operator: 'isEmpty' },
            children: [],
            elseChildren: [
              { id: 'sign-in', type: 'button', content: 'Sign in with one click', props: { href: '{{signInUrl}}', fullWidth: true } },
            ],
          },
          {
            id: 'attempt',
            type: 'conditional',
            props: { condition: 'device', operator: 'isEmpty' },
            children: [],
            elseChildren: [
              { id: 'device', type: 'rich-text', content: '<p>Requested from {{device}}.</p>', props: { fontSize: 14, color: '#6b7280' } },
            ],
          },
          {
            id: 'warning',
            type: 'rich-text',
            content:
              '<p>We will never ask you for this code by phone or chat. If you did not try to sign in, you can ignore this email: nobody gets in without the code.</p>',
            props: { fontSize: 14, color: '#6b7280' },
          },
        ],
      },
      footerWith(),
    ],
  },
  exampleVariables: {
    code: '482 913',
    firstName: 'Ada',
    minutesValid: 10,
    signInUrl: 'https://app.example.com/sign-in?token=Zk3v-9Qm',
    device: 'Firefox on Linux, Lisbon',
  },
};
