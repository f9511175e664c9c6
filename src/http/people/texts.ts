/** Texts of the pages about accounts, in each language of pages. A language that lacks one does not compile. */
import type { Role } from '../../domain/access/permissions.js';
import type { ErrorCode } from '../../domain/core/errors.js';
import type { PageLanguage } from '../server/forms.js';

/** Faults that people meet on these pages. English has the words of the service. */
const toldCodes = [
  'INVALID_CREDENTIALS',
  'CODE_REQUIRED',
  'INVALID_CODE',
  'ADDRESS_TAKEN',
  'ADDRESS_NOT_VERIFIED',
  'LOGIN_PAUSED',
  'RATE_LIMIT_EXCEEDED',
  'ERR_EMAIL_001',
  'LINK_INVALID',
  'INVITATION_NOT_FOUND',
  'INVITATION_EXPIRED',
  'INVITATION_NOT_YOURS',
  'MEMBER_LIMIT_EXCEEDED',
  'SIGN_IN_PROVIDER_UNKNOWN',
  'SIGN_IN_PROVIDER_AWAY',
  'SIGN_IN_REFUSED',
  'SIGN_IN_NOT_ALLOWED',
  'IDENTITY_NOT_LINKED',
  'IDENTITY_TAKEN',
  'HTTPS_REQUIRED',
] as const satisfies readonly ErrorCode[];

type ToldCode = (typeof toldCodes)[number];

export const isTold = (code: ErrorCode): code is ToldCode => (toldCodes as readonly ErrorCode[]).includes(code);

/** Names in braces are filled in. */
type Texts = Readonly<{
  account: string;
  linkComes: string;
  forgotten: string;
  sendLink: string;
  notVerified: string;
  sendAgain: string;
  lookIntoMails: string;
  onItsWay: string;
  onlyNewest: string;
  doesNotWork: string;
  askAnother: string;
  notWhole: string;
  cutShort: string;
  canClose: string;
  verify: string;
  whoRegistered: string;
  verifyButton: string;
  notRegistered: string;
  verified: string;
  canSignIn: string;
  reset: string;
  fewWords: string;
  resetButton: string;
  resetDone: string;
  allEnded: string;
  confirmAddress: string;
  givePassword: string;
  confirmButton: string;
  notAsked: string;
  addressChanged: string;
  signInBy: string;
  invited: string;
  invites: string;
  choose: string;
  hasAccount: string;
  notKnown: string;
  join: string;
  signInAndJoin: string;
  isMember: string;
  roleAndSignIn: string;
  signInWith: string;
  joinWith: string;
  roles: Readonly<Record<Role, string>>;
  email: string;
  name: string;
  password: string;
  newPassword: string;
  atLeast: string;
  again: string;
  code: string;
  notSignedIn: string;
  beginAnew: string;
  isLinked: string;
  signInFromNow: string;
  goOn: string;
  oneMoreStep: string;
  needsCode: string;
  signIn: string;
  link: string;
  linkHow: string;
  goOnTo: string;
  providerAsks: string;
  passwordsDiffer: string;
  nameMissing: string;
  passwordRefused: string;
}>;

export type AccountWords = Texts & Readonly<{ faults: Readonly<Record<ToldCode, string>> | undefined }>;

type Catalogue = Readonly<Record<'en', Texts & Readonly<{ faults: undefined }>>> &
  Readonly<Record<Exclude<PageLanguage, 'en'>, Texts & Readonly<{ faults: Readonly<Record<ToldCode, string>> }>>>;

export const words: Catalogue = {
  en: {
    account: 'Your account',
    linkComes: 'An email with a link comes to your address, and the link does the rest.',
    forgotten: 'Have you forgotten your password?',
    sendLink: 'Send a link',
    notVerified: 'Is your address not verified yet?',
    sendAgain: 'Send a link once more',
    lookIntoMails: 'Check your email',
    onItsWay: 'If a user has this address, an email with a link is on its way to it.',
    onlyNewest:
      'Only the newest link works. If no email comes, check the address once more, and look into your spam folder.',
    doesNotWork: 'This does not work',
    askAnother: 'Ask for another link',
    notWhole: 'This link is not whole',
    cutShort: 'It may have been cut short. Open it from the email once more, or copy the whole address.',
    canClose: 'You can close this page.',
    verify: 'Verify your address',
    whoRegistered:
      'Somebody registered with this address. If it was you, give your password, or choose another one; after that you can sign in.',
    verifyButton: 'Verify the address',
    notRegistered: 'If you did not register, close this page: nothing has happened.',
    verified: 'Your address is verified',
    canSignIn: 'You can sign in now, with your address and your password.',
    reset: 'Choose another password',
    fewWords: 'A few words in a row make a good one. Wherever you are signed in, you will have to sign in again.',
    resetButton: 'Set the password',
    resetDone: 'Your password is changed',
    allEnded: 'Every session has ended. Sign in with the new password.',
    confirmAddress: 'Confirm your new address',
    givePassword:
      'Give the password of your account. From then on you sign in by this address, and no longer by the one before.',
    confirmButton: 'Confirm the address',
    notAsked: 'If you did not ask for this, close this page: nothing has happened.',
    addressChanged: 'Your address is changed',
    signInBy: 'From now on you sign in by {email}.',
    invited: 'You are invited to {team}',
    invites: '{inviter} invites you to join the team, with the role {role}.',
    choose: 'Choose a name and a password, and you are in.',
    hasAccount: 'You have an account with this address: sign in to join.',
    notKnown: 'If you do not know what this is about, close this page: nothing has happened.',
    join: 'Join the team',
    signInAndJoin: 'Sign in and join',
    isMember: 'You are a member of {team}',
    roleAndSignIn: 'Your role is {role}. Sign in with {email}.',
    signInWith: 'Sign in with {provider}',
    joinWith: 'Join with {provider}',
    roles: { owner: 'owner', admin: 'admin', member: 'member', viewer: 'viewer' },
    email: 'Email address',
    name: 'Your name',
    password: 'Password',
    newPassword: 'New password',
    atLeast: '{label}, at least {count} characters',
    again: 'The password once more',
    code: 'Code of your second factor',
    notSignedIn: 'You are not signed in',
    beginAnew: 'Begin anew',
    isLinked: '{provider} is linked',
    signInFromNow: 'From now on you can sign in with {provider}.',
    goOn: 'Go on',
    oneMoreStep: 'One more step',
    needsCode: 'Your account has a second factor: give the code of your app, or a recovery code.',
    signIn: 'Sign in',
    link: 'Link {provider} to your account',
    linkHow:
      'Sign in with your password once more. Then {provider} asks who you are, and from then on you can sign in by it.',
    goOnTo: 'Go on to {provider}',
    providerAsks: 'The provider asks who you are.',
    passwordsDiffer: 'The two passwords are not the same.',
    nameMissing: 'The name is missing.',
    passwordRefused: 'Choose a longer password, and none that many people use.',
    faults: undefined,
  },
  de: {
    account: 'Ihr Konto',
    linkComes: 'Sie erhalten eine E-Mail mit einem Link an Ihre Adresse; alles Weitere erledigt der Link.',
    forgotten: 'Haben Sie Ihr Passwort vergessen?',
    sendLink: 'Link senden',
    notVerified: 'Ist Ihre Adresse noch nicht bestätigt?',
    sendAgain: 'Link noch einmal senden',
    lookIntoMails: 'Sehen Sie in Ihr Postfach',
    onItsWay: 'Wenn es ein Konto mit dieser Adresse gibt, ist eine E-Mail mit einem Link dorthin unterwegs.',
    onlyNewest:
      'Nur der neueste Link gilt. Wenn keine E-Mail ankommt, prüfen Sie die Adresse noch einmal und sehen Sie im Spam-Ordner nach.',
    doesNotWork: 'Das funktioniert nicht',
    askAnother: 'Neuen Link anfordern',
    notWhole: 'Dieser Link ist unvollständig',
    cutShort:
      'Vielleicht wurde er abgeschnitten. Öffnen Sie ihn noch einmal aus der E-Mail, oder kopieren Sie die ganze Adresse.',
    canClose: 'Sie können diese Seite schließen.',
    verify: 'Bestätigen Sie Ihre Adresse',
    whoRegistered:
      'Jemand hat sich mit dieser Adresse registriert. Wenn Sie das waren, geben Sie Ihr Passwort ein oder wählen Sie ein anderes; danach können Sie sich anmelden.',
    verifyButton: 'Adresse bestätigen',
    notRegistered: 'Wenn Sie sich nicht registriert haben, schließen Sie diese Seite: Es ist nichts geschehen.',
    verified: 'Ihre Adresse ist bestätigt',
    canSignIn: 'Sie können sich jetzt mit Ihrer Adresse und Ihrem Passwort anmelden.',
    reset: 'Wählen Sie ein neues Passwort',
    fewWords:
      'Einige Wörter hintereinander ergeben ein gutes Passwort. Überall, wo Sie angemeldet sind, müssen Sie sich danach neu anmelden.',
    resetButton: 'Passwort festlegen',
    resetDone: 'Ihr Passwort ist geändert',
    allEnded: 'Alle Sitzungen sind beendet. Melden Sie sich mit dem neuen Passwort an.',
    confirmAddress: 'Bestätigen Sie Ihre neue Adresse',
    givePassword:
      'Geben Sie das Passwort Ihres Kontos ein. Danach melden Sie sich mit dieser Adresse an und nicht mehr mit der bisherigen.',
    confirmButton: 'Adresse bestätigen',
    notAsked: 'Wenn Sie das nicht veranlasst haben, schließen Sie diese Seite: Es ist nichts geschehen.',
    addressChanged: 'Ihre Adresse ist geändert',
    signInBy: 'Ab jetzt melden Sie sich mit {email} an.',
    invited: 'Sie sind zu {team} eingeladen',
    invites: '{inviter} lädt Sie in das Team ein, mit der Rolle {role}.',
    choose: 'Wählen Sie einen Namen und ein Passwort, und Sie sind dabei.',
    hasAccount: 'Sie haben ein Konto mit dieser Adresse: Melden Sie sich an, um beizutreten.',
    notKnown: 'Wenn Sie nicht wissen, worum es geht, schließen Sie diese Seite: Es ist nichts geschehen.',
    join: 'Dem Team beitreten',
    signInAndJoin: 'Anmelden und beitreten',
    isMember: 'Sie gehören jetzt zu {team}',
    roleAndSignIn: 'Ihre Rolle ist {role}. Melden Sie sich mit {email} an.',
    signInWith: 'Mit {provider} anmelden',
    joinWith: 'Mit {provider} beitreten',
    roles: { owner: 'Inhaber', admin: 'Administrator', member: 'Mitglied', viewer: 'Betrachter' },
    email: 'E-Mail-Adresse',
    name: 'Ihr Name',
    password: 'Passwort',
    newPassword: 'Neues Passwort',
    atLeast: '{label}, mindestens {count} Zeichen',
    again: 'Passwort wiederholen',
    code: 'Code des zweiten Faktors',
    notSignedIn: 'Sie sind nicht angemeldet',
    beginAnew: 'Von vorn beginnen',
    isLinked: '{provider} ist verknüpft',
    signInFromNow: 'Ab jetzt können Sie sich mit {provider} anmelden.',
    goOn: 'Weiter',
    oneMoreStep: 'Noch ein Schritt',
    needsCode:
      'Ihr Konto hat einen zweiten Faktor: Geben Sie den Code Ihrer App oder einen Wiederherstellungscode ein.',
    signIn: 'Anmelden',
    link: '{provider} mit Ihrem Konto verknüpfen',
    linkHow:
      'Melden Sie sich noch einmal mit Ihrem Passwort an. Danach fragt {provider}, wer Sie sind, und künftig können Sie sich damit anmelden.',
    goOnTo: 'Weiter zu {provider}',
    providerAsks: 'Der Anbieter fragt, wer Sie sind.',
    passwordsDiffer: 'Die beiden Passwörter stimmen nicht überein.',
    nameMissing: 'Der Name fehlt oder ist zu lang.',
    passwordRefused: 'Wählen Sie ein längeres Passwort, und keines, das viele Leute verwenden.',
    faults: {
      INVALID_CREDENTIALS: 'Die Adresse oder das Passwort ist falsch.',
      CODE_REQUIRED:
        'Geben Sie den Code Ihres zweiten Faktors ein: sechs Ziffern der App oder einen Wiederherstellungscode.',
      INVALID_CODE: 'Der Code ist falsch oder wurde schon verwendet.',
      ADDRESS_TAKEN: 'Zu dieser Adresse gibt es schon ein Konto. Melden Sie sich an, oder wählen Sie eine andere.',
      ADDRESS_NOT_VERIFIED: 'Die Adresse ist noch nicht bestätigt. Öffnen Sie den Link in der E-Mail.',
      LOGIN_PAUSED: 'Zu viele Versuche. Versuchen Sie es später noch einmal.',
      RATE_LIMIT_EXCEEDED: 'Zu viele Anfragen. Versuchen Sie es in einer Minute noch einmal.',
      ERR_EMAIL_001: 'Das ist keine E-Mail-Adresse.',
      LINK_INVALID: 'Dieser Link wurde schon benutzt, ist abgelaufen oder unvollständig. Fordern Sie einen neuen an.',
      INVITATION_NOT_FOUND: 'Diese Einladung gibt es nicht, oder sie wurde schon angenommen oder zurückgezogen.',
      INVITATION_EXPIRED: 'Diese Einladung gilt nicht mehr. Bitten Sie um eine neue.',
      INVITATION_NOT_YOURS: 'Diese Einladung gilt für eine andere Adresse.',
      MEMBER_LIMIT_EXCEEDED: 'Das Team hat schon so viele Mitglieder, wie es haben darf.',
      SIGN_IN_PROVIDER_UNKNOWN: 'Diesen Anbieter gibt es hier nicht.',
      SIGN_IN_PROVIDER_AWAY:
        'Der Anbieter antwortet nicht, wie er soll. Versuchen Sie es später noch einmal, oder melden Sie sich mit einem Passwort an.',
      SIGN_IN_REFUSED: 'Die Antwort des Anbieters gehört zu keiner Anmeldung, die dieser Browser begonnen hat.',
      SIGN_IN_NOT_ALLOWED: 'Mit dieser Adresse können Sie sich über diesen Anbieter nicht anmelden.',
      IDENTITY_NOT_LINKED:
        'Zu dieser Adresse gibt es ein Konto. Melden Sie sich mit dem Passwort an und verknüpfen Sie den Anbieter.',
      IDENTITY_TAKEN: 'Jemand anderes meldet sich mit diesem Konto des Anbieters an.',
      HTTPS_REQUIRED: 'Dafür ist eine Verbindung über HTTPS nötig.',
    },
  },
  fr: {
    account: 'Votre compte',
    linkComes: 'Vous recevrez à votre adresse un e-mail avec un lien ; le lien fait le reste.',
    forgotten: 'Mot de passe oublié ?',
    sendLink: 'Envoyer un lien',
    notVerified: 'Votre adresse n’est pas encore confirmée ?',
    sendAgain: 'Renvoyer un lien',
    lookIntoMails: 'Consultez votre messagerie',
    onItsWay: 'Si un compte existe à cette adresse, un e-mail avec un lien vient d’y être envoyé.',
    onlyNewest:
      'Seul le lien le plus récent est valable. Si aucun e-mail n’arrive, vérifiez l’adresse et regardez dans vos courriers indésirables.',
    doesNotWork: 'Cela ne fonctionne pas',
    askAnother: 'Demander un autre lien',
    notWhole: 'Ce lien est incomplet',
    cutShort: 'Il a peut-être été coupé. Rouvrez-le depuis l’e-mail, ou copiez l’adresse entière.',
    canClose: 'Vous pouvez fermer cette page.',
    verify: 'Confirmez votre adresse',
    whoRegistered:
      'Quelqu’un s’est inscrit avec cette adresse. Si c’était vous, saisissez votre mot de passe ou choisissez-en un autre ; vous pourrez ensuite vous connecter.',
    verifyButton: 'Confirmer l’adresse',
    notRegistered: 'Si vous ne vous êtes pas inscrit(e), fermez cette page : rien n’a changé.',
    verified: 'Votre adresse est confirmée',
    canSignIn: 'Vous pouvez maintenant vous connecter avec votre adresse et votre mot de passe.',
    reset: 'Choisissez un nouveau mot de passe',
    fewWords:
      'Quelques mots à la suite forment un bon mot de passe. Vous devrez vous reconnecter partout où vous êtes connecté(e).',
    resetButton: 'Enregistrer le mot de passe',
    resetDone: 'Votre mot de passe est modifié',
    allEnded: 'Toutes les sessions ont pris fin. Connectez-vous avec le nouveau mot de passe.',
    confirmAddress: 'Confirmez votre nouvelle adresse',
    givePassword:
      'Saisissez le mot de passe de votre compte. Vous vous connecterez ensuite avec cette adresse, et non plus avec l’ancienne.',
    confirmButton: 'Confirmer l’adresse',
    notAsked: 'Si vous n’avez rien demandé, fermez cette page : rien n’a changé.',
    addressChanged: 'Votre adresse est modifiée',
    signInBy: 'Désormais, connectez-vous avec {email}.',
    invited: 'Vous êtes invité(e) à rejoindre {team}',
    invites: '{inviter} vous invite à rejoindre l’équipe, avec le rôle {role}.',
    choose: 'Choisissez un nom et un mot de passe, et c’est fait.',
    hasAccount: 'Vous avez un compte à cette adresse : connectez-vous pour rejoindre l’équipe.',
    notKnown: 'Si vous ne savez pas de quoi il s’agit, fermez cette page : rien n’a changé.',
    join: 'Rejoindre l’équipe',
    signInAndJoin: 'Se connecter et rejoindre l’équipe',
    isMember: 'Vous faites partie de {team}',
    roleAndSignIn: 'Votre rôle est {role}. Connectez-vous avec {email}.',
    signInWith: 'Se connecter avec {provider}',
    joinWith: 'Rejoindre avec {provider}',
    roles: { owner: 'propriétaire', admin: 'administrateur', member: 'membre', viewer: 'lecteur' },
    email: 'Adresse e-mail',
    name: 'Votre nom',
    password: 'Mot de passe',
    newPassword: 'Nouveau mot de passe',
    atLeast: '{label}, au moins {count} caractères',
    again: 'Le mot de passe encore une fois',
    code: 'Code de votre second facteur',
    notSignedIn: 'Vous n’êtes pas connecté(e)',
    beginAnew: 'Recommencer',
    isLinked: '{provider} est associé',
    signInFromNow: 'Désormais, vous pouvez vous connecter avec {provider}.',
    goOn: 'Continuer',
    oneMoreStep: 'Encore une étape',
    needsCode: 'Votre compte a un second facteur : saisissez le code de votre application ou un code de récupération.',
    signIn: 'Se connecter',
    link: 'Associer {provider} à votre compte',
    linkHow:
      'Connectez-vous encore une fois avec votre mot de passe. {provider} vous demandera ensuite qui vous êtes, et vous pourrez vous connecter ainsi.',
    goOnTo: 'Continuer vers {provider}',
    providerAsks: 'Le fournisseur demande qui vous êtes.',
    passwordsDiffer: 'Les deux mots de passe ne sont pas identiques.',
    nameMissing: 'Le nom manque ou est trop long.',
    passwordRefused: 'Choisissez un mot de passe plus long, que peu de gens utilisent.',
    faults: {
      INVALID_CREDENTIALS: 'L’adresse ou le mot de passe est incorrect.',
      CODE_REQUIRED:
        'Saisissez le code de votre second facteur : les six chiffres de l’application ou un code de récupération.',
      INVALID_CODE: 'Le code est incorrect ou a déjà été utilisé.',
      ADDRESS_TAKEN: 'Un compte existe déjà à cette adresse. Connectez-vous, ou choisissez une autre adresse.',
      ADDRESS_NOT_VERIFIED: 'L’adresse n’est pas encore confirmée. Ouvrez le lien dans l’e-mail.',
      LOGIN_PAUSED: 'Trop de tentatives. Réessayez plus tard.',
      RATE_LIMIT_EXCEEDED: 'Trop de demandes. Réessayez dans une minute.',
      ERR_EMAIL_001: 'Ce n’est pas une adresse e-mail.',
      LINK_INVALID: 'Ce lien a déjà servi, a expiré ou est incomplet. Demandez-en un autre.',
      INVITATION_NOT_FOUND: 'Cette invitation n’existe pas, ou elle a déjà été acceptée ou retirée.',
      INVITATION_EXPIRED: 'Cette invitation n’est plus valable. Demandez-en une autre.',
      INVITATION_NOT_YOURS: 'Cette invitation est destinée à une autre adresse.',
      MEMBER_LIMIT_EXCEEDED: 'L’équipe compte déjà autant de membres qu’elle peut en avoir.',
      SIGN_IN_PROVIDER_UNKNOWN: 'Ce fournisseur n’existe pas ici.',
      SIGN_IN_PROVIDER_AWAY:
        'Le fournisseur ne répond pas comme il le devrait. Réessayez plus tard, ou connectez-vous avec un mot de passe.',
      SIGN_IN_REFUSED: 'La réponse du fournisseur ne correspond à aucune connexion commencée dans ce navigateur.',
      SIGN_IN_NOT_ALLOWED: 'Cette adresse ne permet pas de se connecter par ce fournisseur.',
      IDENTITY_NOT_LINKED:
        'Un compte existe à cette adresse. Connectez-vous avec le mot de passe et associez le fournisseur.',
      IDENTITY_TAKEN: 'Quelqu’un d’autre se connecte avec ce compte du fournisseur.',
      HTTPS_REQUIRED: 'Une connexion HTTPS est nécessaire.',
    },
  },
  es: {
    account: 'Su cuenta',
    linkComes: 'Recibirá en su dirección un correo con un enlace; el enlace hace el resto.',
    forgotten: '¿Ha olvidado su contraseña?',
    sendLink: 'Enviar un enlace',
    notVerified: '¿Su dirección aún no está confirmada?',
    sendAgain: 'Enviar otro enlace',
    lookIntoMails: 'Revise su correo',
    onItsWay: 'Si hay una cuenta con esta dirección, acabamos de enviarle un correo con un enlace.',
    onlyNewest:
      'Solo vale el enlace más reciente. Si no llega ningún correo, compruebe la dirección y mire en la carpeta de correo no deseado.',
    doesNotWork: 'Esto no funciona',
    askAnother: 'Pedir otro enlace',
    notWhole: 'Este enlace está incompleto',
    cutShort: 'Puede que se haya cortado. Ábralo de nuevo desde el correo o copie la dirección entera.',
    canClose: 'Puede cerrar esta página.',
    verify: 'Confirme su dirección',
    whoRegistered:
      'Alguien se ha registrado con esta dirección. Si ha sido usted, escriba su contraseña o elija otra; después podrá iniciar sesión.',
    verifyButton: 'Confirmar la dirección',
    notRegistered: 'Si no se ha registrado, cierre esta página: no ha cambiado nada.',
    verified: 'Su dirección está confirmada',
    canSignIn: 'Ya puede iniciar sesión con su dirección y su contraseña.',
    reset: 'Elija otra contraseña',
    fewWords:
      'Unas cuantas palabras seguidas forman una buena contraseña. Tendrá que volver a iniciar sesión en todos sus dispositivos.',
    resetButton: 'Guardar la contraseña',
    resetDone: 'Su contraseña ha cambiado',
    allEnded: 'Todas las sesiones se han cerrado. Inicie sesión con la nueva contraseña.',
    confirmAddress: 'Confirme su nueva dirección',
    givePassword:
      'Escriba la contraseña de su cuenta. A partir de entonces iniciará sesión con esta dirección y no con la anterior.',
    confirmButton: 'Confirmar la dirección',
    notAsked: 'Si no lo ha pedido usted, cierre esta página: no ha cambiado nada.',
    addressChanged: 'Su dirección ha cambiado',
    signInBy: 'A partir de ahora inicie sesión con {email}.',
    invited: 'Tiene una invitación de {team}',
    invites: '{inviter} le invita a unirse al equipo, con el rol de {role}.',
    choose: 'Elija un nombre y una contraseña, y listo.',
    hasAccount: 'Ya tiene una cuenta con esta dirección: inicie sesión para unirse.',
    notKnown: 'Si no sabe de qué se trata, cierre esta página: no ha cambiado nada.',
    join: 'Unirse al equipo',
    signInAndJoin: 'Iniciar sesión y unirse',
    isMember: 'Ya forma parte de {team}',
    roleAndSignIn: 'Su rol es {role}. Inicie sesión con {email}.',
    signInWith: 'Iniciar sesión con {provider}',
    joinWith: 'Unirse con {provider}',
    roles: { owner: 'propietario', admin: 'administrador', member: 'miembro', viewer: 'lector' },
    email: 'Correo electrónico',
    name: 'Su nombre',
    password: 'Contraseña',
    newPassword: 'Nueva contraseña',
    atLeast: '{label}, al menos {count} caracteres',
    again: 'Repita la contraseña',
    code: 'Código de su segundo factor',
    notSignedIn: 'No ha iniciado sesión',
    beginAnew: 'Empezar de nuevo',
    isLinked: '{provider} está vinculado',
    signInFromNow: 'A partir de ahora puede iniciar sesión con {provider}.',
    goOn: 'Continuar',
    oneMoreStep: 'Un paso más',
    needsCode: 'Su cuenta tiene un segundo factor: escriba el código de su aplicación o un código de recuperación.',
    signIn: 'Iniciar sesión',
    link: 'Vincular {provider} a su cuenta',
    linkHow:
      'Inicie sesión una vez más con su contraseña. Después {provider} le preguntará quién es, y desde entonces podrá iniciar sesión así.',
    goOnTo: 'Continuar a {provider}',
    providerAsks: 'El proveedor pregunta quién es usted.',
    passwordsDiffer: 'Las dos contraseñas no coinciden.',
    nameMissing: 'Falta el nombre o es demasiado largo.',
    passwordRefused: 'Elija una contraseña más larga y que no use mucha gente.',
    faults: {
      INVALID_CREDENTIALS: 'La dirección o la contraseña no es correcta.',
      CODE_REQUIRED:
        'Escriba el código de su segundo factor: los seis dígitos de la aplicación o un código de recuperación.',
      INVALID_CODE: 'El código no es correcto o ya se ha usado.',
      ADDRESS_TAKEN: 'Ya hay una cuenta con esta dirección. Inicie sesión o elija otra.',
      ADDRESS_NOT_VERIFIED: 'La dirección aún no está confirmada. Abra el enlace del correo.',
      LOGIN_PAUSED: 'Demasiados intentos. Vuelva a intentarlo más tarde.',
      RATE_LIMIT_EXCEEDED: 'Demasiadas peticiones. Vuelva a intentarlo dentro de un minuto.',
      ERR_EMAIL_001: 'No es una dirección de correo.',
      LINK_INVALID: 'Este enlace ya se ha usado, ha caducado o está incompleto. Pida otro.',
      INVITATION_NOT_FOUND: 'Esta invitación no existe, o ya se ha aceptado o retirado.',
      INVITATION_EXPIRED: 'Esta invitación ya no vale. Pida otra a quien le invitó.',
      INVITATION_NOT_YOURS: 'Esta invitación es para otra dirección.',
      MEMBER_LIMIT_EXCEEDED: 'El equipo ya tiene todos los miembros que puede tener.',
      SIGN_IN_PROVIDER_UNKNOWN: 'Este proveedor no existe aquí.',
      SIGN_IN_PROVIDER_AWAY:
        'El proveedor no responde como debería. Vuelva a intentarlo más tarde o inicie sesión con una contraseña.',
      SIGN_IN_REFUSED: 'La respuesta del proveedor no corresponde a ningún inicio de sesión de este navegador.',
      SIGN_IN_NOT_ALLOWED: 'Con esta dirección no se puede iniciar sesión mediante este proveedor.',
      IDENTITY_NOT_LINKED:
        'Ya hay una cuenta con esta dirección. Inicie sesión con la contraseña y vincule el proveedor.',
      IDENTITY_TAKEN: 'Otra persona inicia sesión con esta cuenta del proveedor.',
      HTTPS_REQUIRED: 'Hace falta una conexión HTTPS.',
    },
  },
  pt: {
    account: 'A sua conta',
    linkComes: 'Vai receber no seu endereço um e-mail com uma ligação; a ligação faz o resto.',
    forgotten: 'Esqueceu-se da palavra-passe?',
    sendLink: 'Enviar uma ligação',
    notVerified: 'O seu endereço ainda não está confirmado?',
    sendAgain: 'Enviar outra ligação',
    lookIntoMails: 'Veja o seu correio',
    onItsWay: 'Se existir uma conta com este endereço, acabámos de lhe enviar um e-mail com uma ligação.',
    onlyNewest:
      'Só a ligação mais recente é válida. Se não chegar nenhum e-mail, confirme o endereço e procure na pasta de correio não solicitado.',
    doesNotWork: 'Isto não funciona',
    askAnother: 'Pedir outra ligação',
    notWhole: 'Esta ligação está incompleta',
    cutShort: 'Pode ter sido cortada. Abra-a de novo a partir do e-mail, ou copie o endereço inteiro.',
    canClose: 'Pode fechar esta página.',
    verify: 'Confirme o seu endereço',
    whoRegistered:
      'Alguém se registou com este endereço. Se foi o seu caso, introduza a palavra-passe ou escolha outra; depois pode iniciar sessão.',
    verifyButton: 'Confirmar o endereço',
    notRegistered: 'Se não se registou, feche esta página: nada mudou.',
    verified: 'O seu endereço está confirmado',
    canSignIn: 'Já pode iniciar sessão com o seu endereço e a sua palavra-passe.',
    reset: 'Escolha outra palavra-passe',
    fewWords: 'Algumas palavras seguidas formam uma boa palavra-passe. Terá de voltar a iniciar sessão em todo o lado.',
    resetButton: 'Guardar a palavra-passe',
    resetDone: 'A sua palavra-passe foi alterada',
    allEnded: 'Todas as sessões terminaram. Inicie sessão com a nova palavra-passe.',
    confirmAddress: 'Confirme o seu novo endereço',
    givePassword:
      'Introduza a palavra-passe da sua conta. A partir daí inicia sessão com este endereço, e não com o anterior.',
    confirmButton: 'Confirmar o endereço',
    notAsked: 'Se não pediu isto, feche esta página: nada mudou.',
    addressChanged: 'O seu endereço foi alterado',
    signInBy: 'A partir de agora inicie sessão com {email}.',
    invited: 'Tem um convite de {team}',
    invites: '{inviter} convida-o(a) a juntar-se à equipa, com a função de {role}.',
    choose: 'Escolha um nome e uma palavra-passe, e já está.',
    hasAccount: 'Tem uma conta com este endereço: inicie sessão para se juntar.',
    notKnown: 'Se não sabe do que se trata, feche esta página: nada mudou.',
    join: 'Juntar-se à equipa',
    signInAndJoin: 'Iniciar sessão e juntar-se',
    isMember: 'Faz parte de {team}',
    roleAndSignIn: 'A sua função é {role}. Inicie sessão com {email}.',
    signInWith: 'Iniciar sessão com {provider}',
    joinWith: 'Juntar-se com {provider}',
    roles: { owner: 'proprietário', admin: 'administrador', member: 'membro', viewer: 'leitor' },
    email: 'Endereço de e-mail',
    name: 'O seu nome',
    password: 'Palavra-passe',
    newPassword: 'Nova palavra-passe',
    atLeast: '{label}, pelo menos {count} caracteres',
    again: 'Repita a palavra-passe',
    code: 'Código do segundo fator',
    notSignedIn: 'Não iniciou sessão',
    beginAnew: 'Começar de novo',
    isLinked: '{provider} está associado',
    signInFromNow: 'A partir de agora pode iniciar sessão com {provider}.',
    goOn: 'Continuar',
    oneMoreStep: 'Mais um passo',
    needsCode: 'A sua conta tem um segundo fator: introduza o código da aplicação ou um código de recuperação.',
    signIn: 'Iniciar sessão',
    link: 'Associar {provider} à sua conta',
    linkHow:
      'Inicie sessão mais uma vez com a palavra-passe. Depois {provider} pergunta quem é, e a partir daí pode iniciar sessão assim.',
    goOnTo: 'Continuar para {provider}',
    providerAsks: 'O fornecedor pergunta quem é.',
    passwordsDiffer: 'As duas palavras-passe não são iguais.',
    nameMissing: 'Falta o nome, ou é demasiado longo.',
    passwordRefused: 'Escolha uma palavra-passe mais longa, que pouca gente use.',
    faults: {
      INVALID_CREDENTIALS: 'O endereço ou a palavra-passe está errado.',
      CODE_REQUIRED:
        'Introduza o código do segundo fator: os seis algarismos da aplicação ou um código de recuperação.',
      INVALID_CODE: 'O código está errado ou já foi usado.',
      ADDRESS_TAKEN: 'Já existe uma conta com este endereço. Inicie sessão, ou escolha outro.',
      ADDRESS_NOT_VERIFIED: 'O endereço ainda não está confirmado. Abra a ligação no e-mail.',
      LOGIN_PAUSED: 'Demasiadas tentativas. Tente mais tarde.',
      RATE_LIMIT_EXCEEDED: 'Demasiados pedidos. Tente de novo dentro de um minuto.',
      ERR_EMAIL_001: 'Não é um endereço de e-mail.',
      LINK_INVALID: 'Esta ligação já foi usada, expirou ou está incompleta. Peça outra.',
      INVITATION_NOT_FOUND: 'Este convite não existe, ou já foi aceite ou retirado.',
      INVITATION_EXPIRED: 'Este convite já não é válido. Peça outro a quem o enviou.',
      INVITATION_NOT_YOURS: 'Este convite é para outro endereço.',
      MEMBER_LIMIT_EXCEEDED: 'A equipa já tem todos os membros que pode ter.',
      SIGN_IN_PROVIDER_UNKNOWN: 'Este fornecedor não existe aqui.',
      SIGN_IN_PROVIDER_AWAY:
        'O fornecedor não responde como devia. Tente mais tarde, ou inicie sessão com uma palavra-passe.',
      SIGN_IN_REFUSED: 'A resposta do fornecedor não pertence a nenhum início de sessão deste navegador.',
      SIGN_IN_NOT_ALLOWED: 'Com este endereço não se inicia sessão por este fornecedor.',
      IDENTITY_NOT_LINKED:
        'Já existe uma conta com este endereço. Inicie sessão com a palavra-passe e associe o fornecedor.',
      IDENTITY_TAKEN: 'Outra pessoa inicia sessão com esta conta do fornecedor.',
      HTTPS_REQUIRED: 'É necessária uma ligação HTTPS.',
    },
  },
  ar: {
    account: 'حسابك',
    linkComes: 'تصلك على عنوانك رسالة فيها رابط، والرابط يتكفل بالباقي.',
    forgotten: 'هل نسيت كلمة المرور؟',
    sendLink: 'إرسال رابط',
    notVerified: 'ألم يُؤكَّد عنوانك بعد؟',
    sendAgain: 'إرسال رابط من جديد',
    lookIntoMails: 'تحقق من بريدك',
    onItsWay: 'إذا كان لهذا العنوان حساب فقد أُرسلت إليه رسالة فيها رابط.',
    onlyNewest: 'أحدث رابط وحده صالح. إن لم تصلك رسالة فتحقق من العنوان وابحث في مجلد الرسائل غير المرغوب فيها.',
    doesNotWork: 'تعذّر ذلك',
    askAnother: 'طلب رابط آخر',
    notWhole: 'هذا الرابط غير مكتمل',
    cutShort: 'ربما قُطع جزء منه. افتحه من الرسالة مرة أخرى أو انسخ العنوان كاملًا.',
    canClose: 'يمكنك إغلاق هذه الصفحة.',
    verify: 'أكّد عنوانك',
    whoRegistered: 'سجّل شخص ما بهذا العنوان. إن كنت أنت فأدخل كلمة مرورك أو اختر غيرها، ثم يمكنك تسجيل الدخول.',
    verifyButton: 'تأكيد العنوان',
    notRegistered: 'إن لم تكن قد سجّلت فأغلق هذه الصفحة: لم يتغير شيء.',
    verified: 'تم تأكيد عنوانك',
    canSignIn: 'يمكنك الآن تسجيل الدخول بعنوانك وكلمة مرورك.',
    reset: 'اختر كلمة مرور أخرى',
    fewWords: 'بضع كلمات متتالية تصنع كلمة مرور جيدة. سيتعين عليك تسجيل الدخول من جديد على كل أجهزتك.',
    resetButton: 'حفظ كلمة المرور',
    resetDone: 'تم تغيير كلمة مرورك',
    allEnded: 'انتهت جميع الجلسات. سجّل الدخول بكلمة المرور الجديدة.',
    confirmAddress: 'أكّد عنوانك الجديد',
    givePassword: 'أدخل كلمة مرور حسابك. بعد ذلك تسجّل الدخول بهذا العنوان لا بالعنوان السابق.',
    confirmButton: 'تأكيد العنوان',
    notAsked: 'إن لم تطلب ذلك فأغلق هذه الصفحة: لم يتغير شيء.',
    addressChanged: 'تم تغيير عنوانك',
    signInBy: 'من الآن فصاعدًا سجّل الدخول بالعنوان {email}.',
    invited: 'أنت مدعو إلى {team}',
    invites: 'يدعوك {inviter} إلى الانضمام إلى الفريق بدور {role}.',
    choose: 'اختر اسمًا وكلمة مرور لتنضم.',
    hasAccount: 'لديك حساب بهذا العنوان: سجّل الدخول لتنضم.',
    notKnown: 'إن كنت لا تعرف ما هذا فأغلق هذه الصفحة: لم يتغير شيء.',
    join: 'الانضمام إلى الفريق',
    signInAndJoin: 'تسجيل الدخول والانضمام',
    isMember: 'أنت عضو في {team}',
    roleAndSignIn: 'دورك {role}. سجّل الدخول بالعنوان {email}.',
    signInWith: 'تسجيل الدخول عبر {provider}',
    joinWith: 'الانضمام عبر {provider}',
    roles: { owner: 'مالك', admin: 'مدير', member: 'عضو', viewer: 'قارئ' },
    email: 'عنوان البريد الإلكتروني',
    name: 'اسمك',
    password: 'كلمة المرور',
    newPassword: 'كلمة مرور جديدة',
    atLeast: '{label}، عدد أحرفها {count} على الأقل',
    again: 'كلمة المرور مرة أخرى',
    code: 'رمز العامل الثاني',
    notSignedIn: 'لم تسجّل الدخول',
    beginAnew: 'البدء من جديد',
    isLinked: 'تم ربط {provider}',
    signInFromNow: 'من الآن فصاعدًا يمكنك تسجيل الدخول عبر {provider}.',
    goOn: 'متابعة',
    oneMoreStep: 'خطوة أخرى',
    needsCode: 'لحسابك عامل ثانٍ: أدخل رمز التطبيق أو رمز استرداد.',
    signIn: 'تسجيل الدخول',
    link: 'ربط {provider} بحسابك',
    linkHow: 'سجّل الدخول بكلمة مرورك مرة أخرى. ثم يسألك {provider} من أنت، وبعدها يمكنك تسجيل الدخول عبره.',
    goOnTo: 'المتابعة إلى {provider}',
    providerAsks: 'يسألك المزوّد من أنت.',
    passwordsDiffer: 'كلمتا المرور غير متطابقتين.',
    nameMissing: 'الاسم ناقص أو أطول من اللازم.',
    passwordRefused: 'اختر كلمة مرور أطول، ولا يستخدمها كثير من الناس.',
    faults: {
      INVALID_CREDENTIALS: 'العنوان أو كلمة المرور غير صحيحة.',
      CODE_REQUIRED: 'أدخل رمز العامل الثاني: الأرقام الستة من التطبيق أو رمز استرداد.',
      INVALID_CODE: 'الرمز غير صحيح أو سبق استخدامه.',
      ADDRESS_TAKEN: 'لهذا العنوان حساب. سجّل الدخول أو اختر عنوانًا آخر.',
      ADDRESS_NOT_VERIFIED: 'لم يُؤكَّد العنوان بعد. افتح الرابط في الرسالة.',
      LOGIN_PAUSED: 'محاولات كثيرة. حاول لاحقًا.',
      RATE_LIMIT_EXCEEDED: 'طلبات كثيرة. حاول مرة أخرى بعد دقيقة.',
      ERR_EMAIL_001: 'هذا ليس عنوان بريد إلكتروني.',
      LINK_INVALID: 'سبق استخدام هذا الرابط أو انتهت صلاحيته أو هو غير مكتمل. اطلب غيره.',
      INVITATION_NOT_FOUND: 'هذه الدعوة غير موجودة، أو سبق قبولها أو سحبها.',
      INVITATION_EXPIRED: 'لم تعد هذه الدعوة صالحة. اطلب غيرها ممن دعاك.',
      INVITATION_NOT_YOURS: 'هذه الدعوة لعنوان آخر.',
      MEMBER_LIMIT_EXCEEDED: 'بلغ الفريق أقصى عدد من الأعضاء.',
      SIGN_IN_PROVIDER_UNKNOWN: 'هذا المزوّد غير موجود هنا.',
      SIGN_IN_PROVIDER_AWAY: 'لا يجيب المزوّد كما ينبغي. حاول لاحقًا أو سجّل الدخول بكلمة مرور.',
      SIGN_IN_REFUSED: 'جواب المزوّد لا يخص أي تسجيل دخول بدأه هذا المتصفح.',
      SIGN_IN_NOT_ALLOWED: 'لا يمكن تسجيل الدخول بهذا العنوان عبر هذا المزوّد.',
      IDENTITY_NOT_LINKED: 'لهذا العنوان حساب. سجّل الدخول بكلمة المرور ثم اربط المزوّد.',
      IDENTITY_TAKEN: 'يسجّل شخص آخر الدخول بهذا الحساب لدى المزوّد.',
      HTTPS_REQUIRED: 'يلزم اتصال عبر HTTPS.',
    },
  },
};

/** Plain text; in a page that runs from right to left each value keeps its own direction. */
export const filledIn = (
  language: PageLanguage,
  text: string,
  values: Readonly<Record<string, string | number>>,
): string =>
  text.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = String(values[name] ?? '');
    return language === 'ar' ? `\u2068${value}\u2069` : value;
  });
