/** Mails by which a person gets in: a code to sign in, short and readable at a glance, and a link to choose another password. */
import { BRAND, emailInLanguages, brandHeader, footerWith, rich, SMALL, whereGiven } from './sample.js';

const signInCodeEn = {
  subject: '{{code}} is your {{__COMPANY_NAME__}} sign-in code',
  preheader: 'Valid for {{minutesValid}} minutes. Do not share it with anyone.',
  title: 'Your sign-in code',
  intro: 'Enter this code to finish signing in. It is valid for {{minutesValid}} minutes.',
  introNamed: 'Hi {{firstName}}, enter this code to finish signing in. It is valid for {{minutesValid}} minutes.',
  button: 'Sign in with one click',
  device: 'Requested from {{device}}.',
  warning:
    'We will never ask you for this code by phone or chat. If you did not try to sign in, you can ignore this email: no one can sign in without the code.',
};

const signInCodeFr: typeof signInCodeEn = {
  subject: '{{code}}\u00a0: votre code de connexion {{__COMPANY_NAME__}}',
  preheader: 'Valable {{minutesValid}} minutes. Ne le communiquez à personne.',
  title: 'Votre code de connexion',
  intro: 'Saisissez ce code pour terminer la connexion. Il est valable {{minutesValid}} minutes.',
  introNamed: 'Bonjour {{firstName}}, saisissez ce code pour terminer la connexion. Il est valable {{minutesValid}} minutes.',
  button: 'Se connecter en un clic',
  device: 'Demande faite depuis {{device}}.',
  warning:
    'Nous ne vous demanderons jamais ce code par téléphone ni par messagerie. Si vous n’avez pas essayé de vous connecter, ignorez ce message\u00a0: personne n’entre sans le code.',
};

export const signInCode = emailInLanguages(
  {
    slug: 'sign-in-code',
    name: 'Sign-in code',
    description: 'A one-time code with its lifetime, and what to do when one did not ask for it.',
    exampleVariables: {
      code: '482 913',
      firstName: 'Ada',
      minutesValid: 10,
      signInUrl: 'https://app.example.com/sign-in?token=Zk3v-9Qm',
      device: 'Firefox on Linux, Lisbon',
    },
  },
  { own: signInCodeEn, others: { fr: signInCodeFr } },
  (text) => ({
    subject: text.subject,
    variables: [
      { name: 'code', type: 'string', required: true, description: 'The code, as it is typed', defaultValue: '482 913' },
      { name: 'firstName', type: 'string', description: 'Greets by name where it is given', defaultValue: '' },
      { name: 'minutesValid', type: 'number', description: 'Lifetime of the code in minutes', defaultValue: 10 },
      { name: 'signInUrl', type: 'string', description: 'Signs in with one click; without it there is no button', defaultValue: '' },
      { name: 'device', type: 'string', description: 'Browser and place of the attempt', defaultValue: '' },
    ],
    schema: {
      props: { preheader: text.preheader, linkColor: BRAND.main },
      sections: [
        brandHeader,
        {
          id: 'main',
          type: 'main',
          components: [
            rich('title', `<h1>${text.title}</h1>`),
            {
              id: 'named',
              type: 'conditional',
              props: { condition: 'firstName', operator: 'isEmpty' },
              children: [rich('intro', `<p>${text.intro}</p>`)],
              elseChildren: [rich('intro-named', `<p>${text.introNamed}</p>`)],
            },
            {
              id: 'code-box',
              type: 'container',
              props: { backgroundColor: BRAND.pale, borderRadius: 8, padding: '20px 16px', align: 'center' },
              children: [
                rich('code', '<span style="letter-spacing:6px;font-weight:700">{{code}}</span>', {
                  align: 'center',
                  fontSize: 34,
                  lineHeight: 1.2,
                  fontFamily: "Consolas, Menlo, 'Courier New', monospace",
                }),
              ],
            },
            { id: 'sign-in', type: 'button', content: text.button, props: { href: '{{signInUrl}}', fullWidth: true, hideWhenEmpty: true } },
            rich('device', `<p>${text.device}</p>`, { ...SMALL, hideWhenEmpty: true }),
            rich('warning', `<p>${text.warning}</p>`, SMALL),
          ],
        },
        footerWith(),
      ],
    },
  }),
);

const passwordResetEn = {
  subject: 'Choose a new password for {{__COMPANY_NAME__}}',
  preheader: 'The link is valid for {{minutesValid}} minutes and works once.',
  title: 'Choose a new password',
  intro: 'Someone asked for a new password for your account. If it was you, choose one here:',
  introNamed: 'Hi {{firstName}}, someone asked for a new password for your account. If it was you, choose one here:',
  button: 'Choose a password',
  lifetime: 'The link is valid for {{minutesValid}} minutes and works once.',
  device: 'Requested from {{device}}.',
  address: 'If the button does not work, open this address:',
  ignore:
    'If you did not ask for this, you can ignore this email: your password stays as it is, and no one can change it without the link.',
};

const passwordResetFr: typeof passwordResetEn = {
  subject: 'Choisissez un nouveau mot de passe pour {{__COMPANY_NAME__}}',
  preheader: 'Le lien est valable {{minutesValid}} minutes et ne fonctionne qu’une fois.',
  title: 'Choisissez un nouveau mot de passe',
  intro: 'Quelqu’un a demandé un nouveau mot de passe pour votre compte. Si c’est vous, choisissez-le ici\u00a0:',
  introNamed:
    'Bonjour {{firstName}}, quelqu’un a demandé un nouveau mot de passe pour votre compte. Si c’est vous, choisissez-le ici\u00a0:',
  button: 'Choisir un mot de passe',
  lifetime: 'Le lien est valable {{minutesValid}} minutes et ne fonctionne qu’une fois.',
  device: 'Demande faite depuis {{device}}.',
  address: 'Si le bouton ne fonctionne pas, ouvrez cette adresse\u00a0:',
  ignore:
    'Si vous n’avez rien demandé, ignorez ce message\u00a0: votre mot de passe reste le même, et personne ne peut le changer sans le lien.',
};

export const passwordReset = emailInLanguages(
  {
    slug: 'password-reset',
    name: 'Password reset',
    description: 'A link by which a new password is chosen, for the users of your product.',
    exampleVariables: {
      resetUrl: 'https://app.example.com/reset?token=Zk3v-9QmTq7w',
      firstName: 'Ada',
      minutesValid: 30,
      device: 'Firefox on Linux, Lisbon',
    },
  },
  { own: passwordResetEn, others: { fr: passwordResetFr } },
  (text) => ({
    subject: text.subject,
    variables: [
      {
        name: 'resetUrl',
        type: 'string',
        required: true,
        description: 'The link, with its token',
        defaultValue: 'https://app.example.com/reset',
      },
      { name: 'firstName', type: 'string', description: 'Greets by name where it is given', defaultValue: '' },
      { name: 'minutesValid', type: 'number', description: 'Lifetime of the link in minutes', defaultValue: 30 },
      { name: 'device', type: 'string', description: 'Browser and place of the request', defaultValue: '' },
    ],
    schema: {
      props: { preheader: text.preheader, linkColor: BRAND.main },
      sections: [
        brandHeader,
        {
          id: 'main',
          type: 'main',
          components: [
            rich('title', `<h1>${text.title}</h1>`),
            whereGiven('firstName', [rich('intro-named', `<p>${text.introNamed}</p>`)], [rich('intro', `<p>${text.intro}</p>`)]),
            { id: 'reset', type: 'button', content: text.button, props: { href: '{{resetUrl}}', fullWidth: true } },
            rich('lifetime', `<p>${text.lifetime}</p>`),
            rich('device', `<p>${text.device}</p>`, { ...SMALL, hideWhenEmpty: true }),
            rich('address', `<p>${text.address}<br><a href="{{resetUrl}}">{{resetUrl}}</a></p>`, SMALL),
            { id: 'rule', type: 'divider' },
            rich('ignore', `<p>${text.ignore}</p>`, SMALL),
          ],
        },
        footerWith(),
      ],
    },
  }),
);
