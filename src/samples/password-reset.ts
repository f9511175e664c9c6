/** Another password: one link, how long it lives, what to do when one did not ask for it. */
import { emailInLanguages } from './languages.js';
import { brandHeader, footerWith, rich, SMALL, whereGiven } from './sample.js';

const en = {
  subject: 'Choose a new password for {{__COMPANY_NAME__}}',
  preheader: 'The link is valid for {{minutesValid}} minutes and works once.',
  title: 'Choose a new password',
  intro: 'Somebody asked for a new password for your account. If it was you, choose one here:',
  introNamed: 'Hi {{firstName}}, somebody asked for a new password for your account. If it was you, choose one here:',
  button: 'Choose a password',
  lifetime: 'The link is valid for {{minutesValid}} minutes and works once.',
  device: 'Requested from {{device}}.',
  address: 'If the button does nothing, open this address:',
  ignore:
    'If you did not ask for this, you can ignore this email: your password stays as it is, and nobody can change it without the link.',
};

const fr: typeof en = {
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
  { own: en, others: { fr } },
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
      props: { preheader: text.preheader },
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
