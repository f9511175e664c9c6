/** Texts of the pages about apps, in each language of pages. */
import type { Scope } from '../../domain/access/permissions.js';
import type { ErrorCode } from '../../domain/core/errors.js';
import type { PageLanguage } from '../server/forms.js';

/** Names in braces are filled in. */
type Words = Readonly<{
  signIn: string;
  asks: string;
  nextPage: string;
  isWrong: string;
  nothingGranted: string;
  email: string;
  password: string;
  code: string;
  isOver: string;
  /** By what was wrong with a sign-in. */
  faults: Readonly<Partial<Record<ErrorCode, string>>>;
  isAllowed: string;
  you: string;
  homepage: string;
  can: string;
  scopes: Readonly<Record<Scope, string>>;
  inTeam: string;
  team: string;
  deny: string;
  allow: string;
  goesOn: string;
  yourApps: string;
  doesNotWork: string;
  nowhere: string;
  noTeam: string;
  apps: string;
  seeApps: string;
  mayDo: string;
  noApps: string;
  end: string;
  done: string;
  signedOut: string;
}>;

export const words: Readonly<Record<PageLanguage, Words>> = {
  en: {
    signIn: 'Sign in',
    asks: '{app} asks for access to your account.',
    nextPage: 'You decide on the next page.',
    isWrong: 'Its request is wrong:',
    nothingGranted: 'Nothing is granted. Close this page, or sign in to go back to {host}.',
    email: 'Email address',
    password: 'Password',
    code: 'Code of your second factor',
    isOver: 'Your sign-in is over. Sign in again.',
    faults: {},
    isAllowed: 'Allow {app} to act for you?',
    you: 'You are {person}.',
    homepage: 'The app says of itself that it is at {homepage}.',
    can: 'With your permission it can, as far as you can yourself:',
    scopes: {
      'emails:send': 'send mails',
      'emails:read': 'read the log of mails, with their recipients and contents',
      'emails:content': 'read the mails themselves, with their attachments',
      'templates:read': 'read templates',
      'templates:write': 'create, change and delete templates',
      'webhooks:read': 'read webhook subscriptions',
      'webhooks:write': 'create, change and delete webhook subscriptions',
      'analytics:read': 'read figures of what was sent',
      'profile:read': 'read your name and address',
    },
    inTeam: 'In the team {team}.',
    team: 'In the team',
    deny: 'Deny',
    allow: 'Allow',
    goesOn: 'You go on to {host}. What you grant can be ended at any time:',
    yourApps: 'your apps',
    doesNotWork: 'This link does not work',
    nowhere:
      'You are sent nowhere, and nothing was granted. Go back to the app and begin again; if this comes again, tell those who make it.',
    noTeam: 'You are in no team, and an app acts in a team.',
    apps: 'Your apps',
    seeApps: 'Sign in to see which apps act for you, and to end that.',
    mayDo: 'In the team {team}, since {day}:',
    noApps: 'No app acts for you.',
    end: 'End',
    done: 'Sign out',
    signedOut: 'You are signed out. You can close this page.',
  },
  de: {
    signIn: 'Anmelden',
    asks: '{app} bittet um Zugriff auf Ihr Konto.',
    nextPage: 'Sie entscheiden auf der nächsten Seite.',
    isWrong: 'Die Anfrage ist fehlerhaft:',
    nothingGranted:
      'Es wird nichts erlaubt. Schließen Sie diese Seite, oder melden Sie sich an, um zu {host} zurückzukehren.',
    email: 'E-Mail-Adresse',
    password: 'Passwort',
    code: 'Code des zweiten Faktors',
    isOver: 'Ihre Anmeldung ist abgelaufen. Melden Sie sich noch einmal an.',
    faults: {
      INVALID_CREDENTIALS: 'Die Adresse oder das Passwort ist falsch.',
      CODE_REQUIRED:
        'Geben Sie den Code Ihres zweiten Faktors ein: sechs Ziffern der App oder einen Wiederherstellungscode.',
      INVALID_CODE: 'Der Code ist falsch oder wurde schon verwendet.',
      ADDRESS_NOT_VERIFIED: 'Die Adresse ist noch nicht bestätigt. Öffnen Sie den Link in der E-Mail.',
      LOGIN_PAUSED: 'Zu viele Versuche. Versuchen Sie es später noch einmal.',
      SECOND_FACTOR_REQUIRED: 'Dieses Team verlangt einen zweiten Faktor.',
      TEAM_NOT_FOUND: 'Dieses Team gibt es nicht, oder Sie gehören ihm nicht an.',
    },
    isAllowed: 'Darf {app} für Sie handeln?',
    you: 'Sie sind {person}.',
    homepage: 'Die App gibt als ihre Adresse {homepage} an.',
    can: 'Mit Ihrer Erlaubnis kann sie, soweit Sie selbst es können:',
    scopes: {
      'emails:send': 'E-Mails senden',
      'emails:read': 'das Protokoll der E-Mails lesen, mit Empfängern und Inhalten',
      'emails:content': 'die E-Mails selbst lesen, mit ihren Anhängen',
      'templates:read': 'Vorlagen lesen',
      'templates:write': 'Vorlagen anlegen, ändern und löschen',
      'webhooks:read': 'Webhook-Abonnements lesen',
      'webhooks:write': 'Webhook-Abonnements anlegen, ändern und löschen',
      'analytics:read': 'Zahlen zum Versand lesen',
      'profile:read': 'Ihren Namen und Ihre Adresse lesen',
    },
    inTeam: 'Im Team {team}.',
    team: 'Im Team',
    deny: 'Ablehnen',
    allow: 'Erlauben',
    goesOn: 'Sie gelangen danach zu {host}. Was Sie erlauben, können Sie jederzeit beenden:',
    yourApps: 'Ihre Apps',
    doesNotWork: 'Dieser Link funktioniert nicht',
    nowhere:
      'Sie werden nicht weitergeleitet, und es wurde nichts erlaubt. Beginnen Sie in der App von vorn; kommt das wieder, sagen Sie es ihren Herstellern.',
    noTeam: 'Sie gehören keinem Team an, und eine App handelt in einem Team.',
    apps: 'Ihre Apps',
    seeApps: 'Melden Sie sich an, um zu sehen, welche Apps für Sie handeln, und um das zu beenden.',
    mayDo: 'Im Team {team}, seit {day}:',
    noApps: 'Keine App handelt für Sie.',
    end: 'Beenden',
    done: 'Abmelden',
    signedOut: 'Sie sind abgemeldet. Sie können diese Seite schließen.',
  },
  fr: {
    signIn: 'Se connecter',
    asks: '{app} demande l’accès à votre compte.',
    nextPage: 'Vous décidez sur la page suivante.',
    isWrong: 'Sa demande est erronée :',
    nothingGranted: 'Rien n’est accordé. Fermez cette page, ou connectez-vous pour retourner à {host}.',
    email: 'Adresse e-mail',
    password: 'Mot de passe',
    code: 'Code de votre second facteur',
    isOver: 'Votre connexion a expiré. Connectez-vous de nouveau.',
    faults: {
      INVALID_CREDENTIALS: 'L’adresse ou le mot de passe est incorrect.',
      CODE_REQUIRED:
        'Saisissez le code de votre second facteur : les six chiffres de l’application ou un code de récupération.',
      INVALID_CODE: 'Le code est incorrect ou a déjà été utilisé.',
      ADDRESS_NOT_VERIFIED: 'L’adresse n’est pas encore confirmée. Ouvrez le lien dans l’e-mail.',
      LOGIN_PAUSED: 'Trop de tentatives. Réessayez plus tard.',
      SECOND_FACTOR_REQUIRED: 'Cette équipe exige un second facteur.',
      TEAM_NOT_FOUND: 'Cette équipe n’existe pas, ou vous n’en faites pas partie.',
    },
    isAllowed: 'Autoriser {app} à agir pour vous ?',
    you: 'Vous êtes {person}.',
    homepage: 'L’application indique comme adresse {homepage}.',
    can: 'Avec votre accord elle peut, dans la mesure où vous le pouvez :',
    scopes: {
      'emails:send': 'envoyer des e-mails',
      'emails:read': 'lire le journal des e-mails, avec leurs destinataires et leur contenu',
      'emails:content': 'lire les e-mails eux-mêmes, avec leurs pièces jointes',
      'templates:read': 'lire les modèles',
      'templates:write': 'créer, modifier et supprimer des modèles',
      'webhooks:read': 'lire les abonnements aux webhooks',
      'webhooks:write': 'créer, modifier et supprimer des abonnements aux webhooks',
      'analytics:read': 'lire les chiffres des envois',
      'profile:read': 'lire votre nom et votre adresse',
    },
    inTeam: 'Dans l’équipe {team}.',
    team: 'Dans l’équipe',
    deny: 'Refuser',
    allow: 'Autoriser',
    goesOn: 'Vous continuez vers {host}. Ce que vous accordez peut prendre fin à tout moment :',
    yourApps: 'vos applications',
    doesNotWork: 'Ce lien ne fonctionne pas',
    nowhere:
      'Vous n’êtes pas redirigé(e), et rien n’a été accordé. Retournez à l’application et recommencez ; si cela se reproduit, prévenez ses auteurs.',
    noTeam: 'Vous n’appartenez à aucune équipe, et une application agit dans une équipe.',
    apps: 'Vos applications',
    seeApps: 'Connectez-vous pour voir quelles applications agissent pour vous, et pour y mettre fin.',
    mayDo: 'Dans l’équipe {team}, depuis le {day} :',
    noApps: 'Aucune application n’agit pour vous.',
    end: 'Mettre fin',
    done: 'Se déconnecter',
    signedOut: 'Vous êtes déconnecté(e). Vous pouvez fermer cette page.',
  },
  es: {
    signIn: 'Iniciar sesión',
    asks: '{app} pide acceso a su cuenta.',
    nextPage: 'Usted decide en la página siguiente.',
    isWrong: 'Su petición es errónea:',
    nothingGranted: 'No se concede nada. Cierre esta página, o inicie sesión para volver a {host}.',
    email: 'Correo electrónico',
    password: 'Contraseña',
    code: 'Código de su segundo factor',
    isOver: 'Su sesión ha terminado. Inicie sesión de nuevo.',
    faults: {
      INVALID_CREDENTIALS: 'La dirección o la contraseña no es correcta.',
      CODE_REQUIRED:
        'Escriba el código de su segundo factor: los seis dígitos de la aplicación o un código de recuperación.',
      INVALID_CODE: 'El código no es correcto o ya se ha usado.',
      ADDRESS_NOT_VERIFIED: 'La dirección aún no está confirmada. Abra el enlace del correo.',
      LOGIN_PAUSED: 'Demasiados intentos. Vuelva a intentarlo más tarde.',
      SECOND_FACTOR_REQUIRED: 'Este equipo exige un segundo factor.',
      TEAM_NOT_FOUND: 'Este equipo no existe, o usted no forma parte de él.',
    },
    isAllowed: '¿Permitir que {app} actúe en su nombre?',
    you: 'Ha iniciado sesión como {person}.',
    homepage: 'La aplicación indica como dirección {homepage}.',
    can: 'Con su permiso podrá, en la medida en que usted mismo pueda:',
    scopes: {
      'emails:send': 'enviar correos',
      'emails:read': 'leer el registro de correos, con sus destinatarios y contenidos',
      'emails:content': 'leer los propios correos, con sus archivos adjuntos',
      'templates:read': 'leer plantillas',
      'templates:write': 'crear, modificar y borrar plantillas',
      'webhooks:read': 'leer suscripciones a webhooks',
      'webhooks:write': 'crear, modificar y borrar suscripciones a webhooks',
      'analytics:read': 'leer las cifras de los envíos',
      'profile:read': 'leer su nombre y su dirección',
    },
    inTeam: 'En el equipo {team}.',
    team: 'En el equipo',
    deny: 'Denegar',
    allow: 'Permitir',
    goesOn: 'Después seguirá a {host}. Puede retirar este permiso en cualquier momento:',
    yourApps: 'sus aplicaciones',
    doesNotWork: 'Este enlace no funciona',
    nowhere:
      'No se le redirige a ningún sitio y no se ha permitido nada. Vuelva a la aplicación y empiece de nuevo; si se repite, avise a quien la desarrolla.',
    noTeam: 'No pertenece a ningún equipo, y una aplicación actúa en un equipo.',
    apps: 'Sus aplicaciones',
    seeApps: 'Inicie sesión para ver qué aplicaciones actúan en su nombre y para retirarles el permiso.',
    mayDo: 'En el equipo {team}, desde el {day}:',
    noApps: 'Ninguna aplicación actúa en su nombre.',
    end: 'Retirar el permiso',
    done: 'Cerrar sesión',
    signedOut: 'Ha cerrado la sesión. Puede cerrar esta página.',
  },
  pt: {
    signIn: 'Iniciar sessão',
    asks: '{app} pede acesso à sua conta.',
    nextPage: 'Decide na página seguinte.',
    isWrong: 'O pedido está errado:',
    nothingGranted: 'Nada é permitido. Feche esta página, ou inicie sessão para voltar a {host}.',
    email: 'Endereço de e-mail',
    password: 'Palavra-passe',
    code: 'Código do segundo fator',
    isOver: 'A sua sessão terminou. Inicie sessão de novo.',
    faults: {
      INVALID_CREDENTIALS: 'O endereço ou a palavra-passe está errado.',
      CODE_REQUIRED:
        'Introduza o código do segundo fator: os seis algarismos da aplicação ou um código de recuperação.',
      INVALID_CODE: 'O código está errado ou já foi usado.',
      ADDRESS_NOT_VERIFIED: 'O endereço ainda não está confirmado. Abra a ligação no e-mail.',
      LOGIN_PAUSED: 'Demasiadas tentativas. Tente mais tarde.',
      SECOND_FACTOR_REQUIRED: 'Esta equipa exige um segundo fator.',
      TEAM_NOT_FOUND: 'Esta equipa não existe, ou não pertence a ela.',
    },
    isAllowed: 'Permitir que {app} aja por si?',
    you: 'Iniciou sessão como {person}.',
    homepage: 'A aplicação indica como endereço {homepage}.',
    can: 'Com a sua permissão pode, na medida em que o próprio utilizador pode:',
    scopes: {
      'emails:send': 'enviar e-mails',
      'emails:read': 'ler o registo dos e-mails, com os destinatários e o conteúdo',
      'emails:content': 'ler os próprios e-mails, com os anexos',
      'templates:read': 'ler modelos',
      'templates:write': 'criar, alterar e apagar modelos',
      'webhooks:read': 'ler subscrições de webhooks',
      'webhooks:write': 'criar, alterar e apagar subscrições de webhooks',
      'analytics:read': 'ler números dos envios',
      'profile:read': 'ler o seu nome e endereço',
    },
    inTeam: 'Na equipa {team}.',
    team: 'Na equipa',
    deny: 'Recusar',
    allow: 'Permitir',
    goesOn: 'Segue para {host}. O que permite pode terminar a qualquer momento:',
    yourApps: 'as suas aplicações',
    doesNotWork: 'Esta ligação não funciona',
    nowhere:
      'Não é encaminhado, e nada foi permitido. Volte à aplicação e comece de novo; se isto se repetir, avise quem a faz.',
    noTeam: 'Não pertence a nenhuma equipa, e uma aplicação age numa equipa.',
    apps: 'As suas aplicações',
    seeApps: 'Inicie sessão para ver que aplicações agem por si, e para o terminar.',
    mayDo: 'Na equipa {team}, desde {day}:',
    noApps: 'Nenhuma aplicação age por si.',
    end: 'Terminar',
    done: 'Terminar sessão',
    signedOut: 'A sessão terminou. Pode fechar esta página.',
  },
  ar: {
    signIn: 'تسجيل الدخول',
    asks: 'يطلب {app} الوصول إلى حسابك.',
    nextPage: 'تقرر في الصفحة التالية.',
    isWrong: 'طلبه غير صحيح:',
    nothingGranted: 'لم يُسمح بشيء. أغلق هذه الصفحة، أو سجّل الدخول للعودة إلى {host}.',
    email: 'عنوان البريد الإلكتروني',
    password: 'كلمة المرور',
    code: 'رمز العامل الثاني',
    isOver: 'انتهت جلستك. سجّل الدخول من جديد.',
    faults: {
      INVALID_CREDENTIALS: 'العنوان أو كلمة المرور غير صحيحة.',
      CODE_REQUIRED: 'أدخل رمز العامل الثاني: الأرقام الستة من التطبيق أو رمز استرداد.',
      INVALID_CODE: 'الرمز غير صحيح أو سبق استخدامه.',
      ADDRESS_NOT_VERIFIED: 'لم يُؤكَّد العنوان بعد. افتح الرابط في الرسالة.',
      LOGIN_PAUSED: 'محاولات كثيرة. حاول لاحقًا.',
      SECOND_FACTOR_REQUIRED: 'يشترط هذا الفريق عاملًا ثانيًا.',
      TEAM_NOT_FOUND: 'هذا الفريق غير موجود، أو لست عضوًا فيه.',
    },
    isAllowed: 'هل تسمح لـ {app} بالتصرف نيابةً عنك؟',
    you: 'أنت {person}.',
    homepage: 'يذكر التطبيق أن عنوانه {homepage}.',
    can: 'بإذنك يستطيع، بقدر ما تستطيع أنت:',
    scopes: {
      'emails:send': 'إرسال رسائل',
      'emails:read': 'قراءة سجل الرسائل مع المستلمين والمحتوى',
      'emails:content': 'قراءة الرسائل نفسها مع مرفقاتها',
      'templates:read': 'قراءة القوالب',
      'templates:write': 'إنشاء القوالب وتغييرها وحذفها',
      'webhooks:read': 'قراءة اشتراكات webhook',
      'webhooks:write': 'إنشاء اشتراكات webhook وتغييرها وحذفها',
      'analytics:read': 'قراءة أرقام الإرسال',
      'profile:read': 'قراءة اسمك وعنوانك',
    },
    inTeam: 'في الفريق {team}.',
    team: 'في الفريق',
    deny: 'رفض',
    allow: 'سماح',
    goesOn: 'تنتقل بعد ذلك إلى {host}. ويمكنك إنهاء ما تسمح به في أي وقت:',
    yourApps: 'تطبيقاتك',
    doesNotWork: 'هذا الرابط لا يعمل',
    nowhere: 'لم تُنقل إلى أي مكان ولم يُسمح بشيء. عد إلى التطبيق وابدأ من جديد؛ وإن تكرر ذلك فأخبر من يطوّره.',
    noTeam: 'لست في أي فريق، والتطبيق يعمل داخل فريق.',
    apps: 'تطبيقاتك',
    seeApps: 'سجّل الدخول لترى التطبيقات التي تتصرف نيابةً عنك ولإنهاء ذلك.',
    mayDo: 'في الفريق {team}، منذ {day}:',
    noApps: 'لا يتصرف أي تطبيق نيابةً عنك.',
    end: 'إنهاء',
    done: 'تسجيل الخروج',
    signedOut: 'سجّلت الخروج. يمكنك إغلاق هذه الصفحة.',
  },
};
