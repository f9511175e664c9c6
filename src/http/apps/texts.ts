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
  noPassword: string;
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
  /** About an app that registered itself. */
  unverified: string;
  /** About an app of a team that the person is not in. */
  ofOthers: string;
  device: string;
  deviceAsks: string;
  deviceCare: string;
  deviceCode: string;
  deviceUnknown: string;
  deviceShows: string;
  otherNetwork: string;
  deviceAllowed: string;
  deviceGoesOn: string;
  deviceDenied: string;
  deviceClose: string;
  deviceOver: string;
  goOn: string;
  canEnd: string;
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
    noPassword: 'Without a password yet? Set one in the dashboard, under Your account.',
    code: 'Code of your second factor',
    isOver: 'Your sign-in is over. Sign in again.',
    faults: {},
    isAllowed: 'Allow {app} to act for you?',
    you: 'You are {person}.',
    homepage: 'The app says of itself that it is at {homepage}.',
    can: 'With your permission it can, as far as you can yourself:',
    scopes: {
      'emails:send': 'send mails, and change, cancel and retry them',
      'emails:read': 'read the log of mails, with their recipients, their subjects and the values filled in',
      'emails:content': 'read the mails themselves, with their attachments',
      'templates:read': 'read templates and their files',
      'templates:write':
        'create, change and delete templates and their files, publish them, and send tests to members of the team',
      'webhooks:read': 'read webhook subscriptions, and what is posted to them about mails',
      'webhooks:write': 'create, change and delete webhook subscriptions, by which other programs learn about mails',
      'analytics:read': 'read figures of what was sent',
      'suppressions:read': 'read which addresses get no mail',
      'profile:read': 'read your name and address, your teams and your apps',
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
    unverified:
      'This app registered itself: nobody has checked its name. Allow it only if you have just set it up yourself and know {host}.',
    ofOthers:
      'Members of the team {team} registered this app. You are not in that team, and nobody has checked its name or that of the app. Allow it only if you know who they are.',
    device: 'Connect a device',
    deviceAsks: 'A program on a device of yours waits for your permission. Type the code that it shows.',
    deviceCare:
      'Go on only if you started this yourself. If somebody sent you this page or the code, close the page: they would get access to your account.',
    deviceCode: 'Code on the device',
    deviceUnknown: 'No device waits with this code. Compare the letters; a code is good for ten minutes.',
    deviceShows: 'Your device shows the code {code}. If it shows another, or none, deny.',
    otherNetwork: 'The request comes from another network than yours.',
    deviceAllowed: 'The device is connected',
    deviceGoesOn: 'Go back to the device. You can close this page.',
    deviceDenied: 'Nothing was allowed',
    deviceClose: 'You can close this page.',
    deviceOver:
      'The request of the device is over: it was decided already, or ten minutes have passed. Begin again on the device.',
    goOn: 'Continue',
    canEnd: 'What you grant can be ended at any time:',
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
    noPassword: 'Noch kein Passwort? Legen Sie es im Dashboard unter Ihrem Konto fest.',
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
      'emails:send': 'E-Mails senden, ändern, abbrechen und noch einmal versuchen',
      'emails:read': 'das Protokoll der E-Mails lesen, mit Empfängern, Betreff und eingesetzten Werten',
      'emails:content': 'die E-Mails selbst lesen, mit ihren Anhängen',
      'templates:read': 'Vorlagen und ihre Dateien lesen',
      'templates:write':
        'Vorlagen und ihre Dateien anlegen, ändern und löschen, sie veröffentlichen und Mitgliedern des Teams Tests senden',
      'webhooks:read': 'Webhook-Abonnements lesen, und was an sie über E-Mails gemeldet wird',
      'webhooks:write':
        'Webhook-Abonnements anlegen, ändern und löschen, durch die andere Programme von E-Mails erfahren',
      'analytics:read': 'Zahlen zum Versand lesen',
      'suppressions:read': 'lesen, an welche Adressen nichts gesendet wird',
      'profile:read': 'Ihren Namen, Ihre Adresse, Ihre Teams und Ihre Apps lesen',
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
    unverified:
      'Diese App hat sich selbst angemeldet: Niemand hat ihren Namen geprüft. Erlauben Sie es nur, wenn Sie sie gerade selbst eingerichtet haben und {host} kennen.',
    ofOthers:
      'Mitglieder des Teams {team} haben diese App angemeldet. Sie gehören nicht zu diesem Team, und niemand hat seinen Namen oder den der App geprüft. Erlauben Sie es nur, wenn Sie wissen, wer das ist.',
    device: 'Ein Gerät verbinden',
    deviceAsks: 'Ein Programm auf einem Ihrer Geräte wartet auf Ihre Erlaubnis. Geben Sie den Code ein, den es zeigt.',
    deviceCare:
      'Fahren Sie nur fort, wenn Sie das selbst begonnen haben. Hat Ihnen jemand diese Seite oder den Code geschickt, schließen Sie die Seite: Er bekäme Zugriff auf Ihr Konto.',
    deviceCode: 'Code auf dem Gerät',
    deviceUnknown: 'Kein Gerät wartet mit diesem Code. Vergleichen Sie die Buchstaben; ein Code gilt zehn Minuten.',
    deviceShows: 'Ihr Gerät zeigt den Code {code}. Zeigt es einen anderen oder keinen, lehnen Sie ab.',
    otherNetwork: 'Die Anfrage kommt aus einem anderen Netz als dem Ihren.',
    deviceAllowed: 'Das Gerät ist verbunden',
    deviceGoesOn: 'Kehren Sie zum Gerät zurück. Sie können diese Seite schließen.',
    deviceDenied: 'Es wurde nichts erlaubt',
    deviceClose: 'Sie können diese Seite schließen.',
    deviceOver:
      'Die Anfrage des Geräts ist beendet: Es wurde schon über sie entschieden, oder zehn Minuten sind vergangen. Beginnen Sie auf dem Gerät von vorn.',
    goOn: 'Weiter',
    canEnd: 'Was Sie erlauben, können Sie jederzeit beenden:',
  },
  fr: {
    signIn: 'Se connecter',
    asks: '{app} demande l’accès à votre compte.',
    nextPage: 'Vous décidez sur la page suivante.',
    isWrong: 'Sa demande est erronée :',
    nothingGranted: 'Rien n’est accordé. Fermez cette page, ou connectez-vous pour retourner à {host}.',
    email: 'Adresse e-mail',
    password: 'Mot de passe',
    noPassword: 'Pas encore de mot de passe ? Définissez-le dans le tableau de bord, sous votre compte.',
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
      'emails:send': 'envoyer des e-mails, les modifier, les annuler et les retenter',
      'emails:read': 'lire le journal des e-mails, avec leurs destinataires, leurs objets et les valeurs insérées',
      'emails:content': 'lire les e-mails eux-mêmes, avec leurs pièces jointes',
      'templates:read': 'lire les modèles et leurs fichiers',
      'templates:write':
        'créer, modifier et supprimer des modèles et leurs fichiers, les publier et envoyer des tests aux membres de l’équipe',
      'webhooks:read': 'lire les abonnements aux webhooks et ce qui leur est transmis sur les e-mails',
      'webhooks:write':
        'créer, modifier et supprimer des abonnements aux webhooks, par lesquels d’autres programmes sont informés des e-mails',
      'analytics:read': 'lire les chiffres des envois',
      'suppressions:read': 'lire les adresses auxquelles rien n’est envoyé',
      'profile:read': 'lire votre nom, votre adresse, vos équipes et vos applications',
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
    unverified:
      'Cette application s’est enregistrée elle-même : personne n’a vérifié son nom. N’acceptez que si vous venez de l’installer vous-même et connaissez {host}.',
    ofOthers:
      'Des membres de l’équipe {team} ont enregistré cette application. Vous n’en faites pas partie, et personne n’a vérifié son nom ni celui de l’application. N’acceptez que si vous savez de qui il s’agit.',
    device: 'Connecter un appareil',
    deviceAsks: 'Un programme sur l’un de vos appareils attend votre accord. Saisissez le code qu’il affiche.',
    deviceCare:
      'Ne continuez que si vous avez commencé vous-même. Si quelqu’un vous a envoyé cette page ou le code, fermez la page : il aurait accès à votre compte.',
    deviceCode: 'Code affiché par l’appareil',
    deviceUnknown: 'Aucun appareil n’attend avec ce code. Comparez les lettres ; un code est valable dix minutes.',
    deviceShows: 'Votre appareil affiche le code {code}. S’il en affiche un autre, ou aucun, refusez.',
    otherNetwork: 'La demande vient d’un autre réseau que le vôtre.',
    deviceAllowed: 'L’appareil est connecté',
    deviceGoesOn: 'Retournez à l’appareil. Vous pouvez fermer cette page.',
    deviceDenied: 'Rien n’a été accordé',
    deviceClose: 'Vous pouvez fermer cette page.',
    deviceOver:
      'La demande de l’appareil est terminée : elle a déjà reçu une réponse, ou dix minutes ont passé. Recommencez sur l’appareil.',
    goOn: 'Continuer',
    canEnd: 'Ce que vous accordez peut prendre fin à tout moment :',
  },
  es: {
    signIn: 'Iniciar sesión',
    asks: '{app} pide acceso a su cuenta.',
    nextPage: 'Usted decide en la página siguiente.',
    isWrong: 'Su petición es errónea:',
    nothingGranted: 'No se concede nada. Cierre esta página, o inicie sesión para volver a {host}.',
    email: 'Correo electrónico',
    password: 'Contraseña',
    noPassword: '¿Aún no tiene contraseña? Establézcala en el panel, en su cuenta.',
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
      'emails:send': 'enviar correos, modificarlos, cancelarlos y reintentarlos',
      'emails:read': 'leer el registro de correos, con sus destinatarios, sus asuntos y los valores insertados',
      'emails:content': 'leer los propios correos, con sus archivos adjuntos',
      'templates:read': 'leer plantillas y sus archivos',
      'templates:write':
        'crear, modificar y borrar plantillas y sus archivos, publicarlas y enviar pruebas a miembros del equipo',
      'webhooks:read': 'leer suscripciones a webhooks y lo que se les comunica sobre los correos',
      'webhooks:write':
        'crear, modificar y borrar suscripciones a webhooks, por las que otros programas se enteran de los correos',
      'analytics:read': 'leer las cifras de los envíos',
      'suppressions:read': 'leer las direcciones a las que no se envía nada',
      'profile:read': 'leer su nombre, su dirección, sus equipos y sus aplicaciones',
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
    unverified:
      'Esta aplicación se ha registrado por sí misma: nadie ha comprobado su nombre. Permítalo solo si acaba de instalarla usted y conoce {host}.',
    ofOthers:
      'Miembros del equipo {team} registraron esta aplicación. Usted no pertenece a ese equipo, y nadie ha comprobado su nombre ni el de la aplicación. Permítalo solo si sabe quiénes son.',
    device: 'Conectar un dispositivo',
    deviceAsks: 'Un programa en uno de sus dispositivos espera su permiso. Escriba el código que muestra.',
    deviceCare:
      'Continúe solo si lo ha empezado usted. Si alguien le ha enviado esta página o el código, cierre la página: tendría acceso a su cuenta.',
    deviceCode: 'Código del dispositivo',
    deviceUnknown: 'Ningún dispositivo espera con este código. Compare las letras; un código vale diez minutos.',
    deviceShows: 'Su dispositivo muestra el código {code}. Si muestra otro, o ninguno, deniegue.',
    otherNetwork: 'La petición viene de una red distinta de la suya.',
    deviceAllowed: 'El dispositivo está conectado',
    deviceGoesOn: 'Vuelva al dispositivo. Puede cerrar esta página.',
    deviceDenied: 'No se ha permitido nada',
    deviceClose: 'Puede cerrar esta página.',
    deviceOver:
      'La petición del dispositivo ha terminado: ya se decidió sobre ella, o han pasado diez minutos. Empiece de nuevo en el dispositivo.',
    goOn: 'Continuar',
    canEnd: 'Puede retirar este permiso en cualquier momento:',
  },
  pt: {
    signIn: 'Iniciar sessão',
    asks: '{app} pede acesso à sua conta.',
    nextPage: 'Decide na página seguinte.',
    isWrong: 'O pedido está errado:',
    nothingGranted: 'Nada é permitido. Feche esta página, ou inicie sessão para voltar a {host}.',
    email: 'Endereço de e-mail',
    password: 'Palavra-passe',
    noPassword: 'Ainda sem palavra-passe? Defina-a no painel, na sua conta.',
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
      'emails:send': 'enviar e-mails, alterá-los, cancelá-los e tentar de novo',
      'emails:read': 'ler o registo dos e-mails, com os destinatários, os assuntos e os valores inseridos',
      'emails:content': 'ler os próprios e-mails, com os anexos',
      'templates:read': 'ler modelos e os seus ficheiros',
      'templates:write':
        'criar, alterar e apagar modelos e os seus ficheiros, publicá-los e enviar testes a membros da equipa',
      'webhooks:read': 'ler subscrições de webhooks e o que lhes é comunicado sobre os e-mails',
      'webhooks:write':
        'criar, alterar e apagar subscrições de webhooks, pelas quais outros programas sabem dos e-mails',
      'analytics:read': 'ler números dos envios',
      'suppressions:read': 'ler os endereços a que nada é enviado',
      'profile:read': 'ler o seu nome, o seu endereço, as suas equipas e as suas aplicações',
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
    unverified:
      'Esta aplicação registou-se a si própria: ninguém verificou o seu nome. Permita apenas se acabou de a instalar e conhece {host}.',
    ofOthers:
      'Membros da equipa {team} registaram esta aplicação. Não pertence a essa equipa, e ninguém verificou o nome dela nem o da aplicação. Permita apenas se souber quem são.',
    device: 'Ligar um dispositivo',
    deviceAsks: 'Um programa num dos seus dispositivos espera pela sua permissão. Introduza o código que mostra.',
    deviceCare:
      'Continue apenas se foi você que começou. Se alguém lhe enviou esta página ou o código, feche a página: teria acesso à sua conta.',
    deviceCode: 'Código do dispositivo',
    deviceUnknown: 'Nenhum dispositivo espera com este código. Compare as letras; um código vale dez minutos.',
    deviceShows: 'O seu dispositivo mostra o código {code}. Se mostrar outro, ou nenhum, recuse.',
    otherNetwork: 'O pedido vem de uma rede diferente da sua.',
    deviceAllowed: 'O dispositivo está ligado',
    deviceGoesOn: 'Volte ao dispositivo. Pode fechar esta página.',
    deviceDenied: 'Nada foi permitido',
    deviceClose: 'Pode fechar esta página.',
    deviceOver:
      'O pedido do dispositivo terminou: já foi decidido, ou passaram dez minutos. Comece de novo no dispositivo.',
    goOn: 'Continuar',
    canEnd: 'O que permite pode terminar a qualquer momento:',
  },
  ar: {
    signIn: 'تسجيل الدخول',
    asks: 'يطلب {app} الوصول إلى حسابك.',
    nextPage: 'تقرر في الصفحة التالية.',
    isWrong: 'طلبه غير صحيح:',
    nothingGranted: 'لم يُسمح بشيء. أغلق هذه الصفحة، أو سجّل الدخول للعودة إلى {host}.',
    email: 'عنوان البريد الإلكتروني',
    password: 'كلمة المرور',
    noPassword: 'لا كلمة مرور لديك بعد؟ عيّنها في لوحة التحكم ضمن حسابك.',
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
      'emails:send': 'إرسال رسائل وتغييرها وإلغاؤها وإعادة محاولتها',
      'emails:read': 'قراءة سجل الرسائل مع المستلمين والموضوعات والقيم المُدرَجة',
      'emails:content': 'قراءة الرسائل نفسها مع مرفقاتها',
      'templates:read': 'قراءة القوالب وملفاتها',
      'templates:write': 'إنشاء القوالب وملفاتها وتغييرها وحذفها ونشرها وإرسال اختبارات إلى أعضاء الفريق',
      'webhooks:read': 'قراءة اشتراكات webhook وما يُبلَّغ إليها عن الرسائل',
      'webhooks:write': 'إنشاء اشتراكات webhook وتغييرها وحذفها، وهي تُعلِم برامج أخرى بالرسائل',
      'analytics:read': 'قراءة أرقام الإرسال',
      'suppressions:read': 'قراءة العناوين التي لا يُرسَل إليها شيء',
      'profile:read': 'قراءة اسمك وعنوانك وفرقك وتطبيقاتك',
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
    unverified:
      'سجّل هذا التطبيق نفسه بنفسه: لم يتحقق أحد من اسمه. لا تسمح به إلا إذا كنت قد أعددته الآن بنفسك وتعرف {host}.',
    ofOthers:
      'سجّل أعضاء الفريق {team} هذا التطبيق. أنت لست في هذا الفريق، ولم يتحقق أحد من اسمه ولا من اسم التطبيق. لا تسمح به إلا إذا كنت تعرف من هم.',
    device: 'ربط جهاز',
    deviceAsks: 'ينتظر برنامج على أحد أجهزتك إذنك. اكتب الرمز الذي يعرضه.',
    deviceCare:
      'لا تتابع إلا إذا بدأت هذا بنفسك. إن أرسل إليك أحد هذه الصفحة أو الرمز فأغلق الصفحة، وإلا حصل على وصول إلى حسابك.',
    deviceCode: 'الرمز على الجهاز',
    deviceUnknown: 'لا ينتظر أي جهاز بهذا الرمز. قارن الحروف؛ الرمز صالح عشر دقائق.',
    deviceShows: 'يعرض جهازك الرمز {code}. إن عرض رمزًا آخر أو لم يعرض شيئًا فارفض.',
    otherNetwork: 'يأتي الطلب من شبكة غير شبكتك.',
    deviceAllowed: 'تم ربط الجهاز',
    deviceGoesOn: 'عد إلى الجهاز. يمكنك إغلاق هذه الصفحة.',
    deviceDenied: 'لم يُسمح بشيء',
    deviceClose: 'يمكنك إغلاق هذه الصفحة.',
    deviceOver: 'انتهى طلب الجهاز: سبق البتّ فيه أو مضت عشر دقائق. ابدأ من جديد على الجهاز.',
    goOn: 'متابعة',
    canEnd: 'يمكنك إنهاء ما تسمح به في أي وقت:',
  },
};
