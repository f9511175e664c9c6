/** One connection to the scripted SMTP server: reads commands one after the other, and at each asks the script. */
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ReceivedMail, SmtpScript, SmtpScriptOptions, SmtpStep } from './smtp-moments.js';

export type SessionHost = Readonly<{
  connection: number;
  options: SmtpScriptOptions;
  extensions: readonly string[];
  tls: Readonly<{ key: Buffer; cert: Buffer }> | undefined;
  nextMessage: () => number;
  ask: SmtpScript;
  command: (line: string) => void;
  received: (mail: ReceivedMail) => void;
}>;

const END_OF_DATA = Buffer.from('\r\n.\r\n', 'latin1');

/** Serves one connection to its end. */
export const serveSession = (first: Socket, host: SessionHost): void => {
  let socket = first;
  let text = '';
  let data: Buffer[] | undefined;
  let tail = Buffer.alloc(0);
  let message = 0;
  let from = '';
  let to: string[] = [];
  let secure = host.options.secure === true;
  let loggedIn = false;
  let busy = false;
  let ended = false;
  let awaiting: ((line: string) => void) | undefined;

  const send = (line: string): void => void (socket.writable && socket.write(`${line}\r\n`));

  /** Asks the script, then does what it says or gives the usual reply. Out: the reply that was sent, if any. */
  const answer = async (step: SmtpStep, argument: string, usual: string): Promise<string | undefined> => {
    const address = step === 'mail' || step === 'rcpt' ? addressOf(argument) : '';
    const action = host.ask({ step, argument, address, connection: host.connection, message });
    if (action?.kind === 'late') await new Promise((resolve) => setTimeout(resolve, action.ms).unref());
    if (action?.kind === 'held') await action.until;
    if (action === undefined || action.kind === 'late' || action.kind === 'held') {
      send(usual);
      return usual;
    }
    if (action.kind === 'reply') {
      send(action.text);
      if (action.thenClose) end();
      return action.text;
    }
    ended = true;
    if (action.kind === 'reset') (socket instanceof TLSSocket ? first : socket).resetAndDestroy();
    if (action.kind === 'close') socket.end();
    return undefined;
  };

  const end = (): void => {
    ended = true;
    socket.end();
  };

  const ehlo = (): string => {
    const lines = ['script.test', ...host.extensions];
    if (host.tls !== undefined && !secure) lines.push('STARTTLS');
    if (host.options.user !== undefined) lines.push(`AUTH ${host.options.login ?? 'PLAIN LOGIN'}`);
    return lines.map((line, index) => `250${index < lines.length - 1 ? '-' : ' '}${line}`).join('\r\n');
  };

  const nextLine = (): Promise<string> => new Promise((resolve) => (awaiting = resolve));

  const logIn = async (argument: string): Promise<void> => {
    const decode = (line: string): string => Buffer.from(line, 'base64').toString();
    let name: string | undefined;
    let password: string | undefined;
    if (/^plain /i.test(argument)) {
      [, name, password] = decode(argument.slice(6)).split('\0');
    } else if (/^login/i.test(argument)) {
      send('334 VXNlcm5hbWU6');
      name = decode(await nextLine());
      send('334 UGFzc3dvcmQ6');
      password = decode(await nextLine());
    }
    const right = name === host.options.user?.name && password === host.options.user?.password;
    const sent = await answer('auth', argument, right ? '235 2.7.0 welcome' : '535 5.7.8 bad credentials');
    if (sent?.startsWith('334') === true) {
      // A challenge that says why the token is refused; the reply follows what the client answers.
      const answered = await nextLine();
      return send(answered === '' ? '535 5.7.8 the token is refused' : '501 5.5.4 an empty answer was due');
    }
    loggedIn = sent?.startsWith('2') === true;
  };

  const command = async (line: string): Promise<void> => {
    host.command(`${host.connection} ${line}`);
    const [, verb = '', argument = ''] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
    switch (verb.toUpperCase()) {
      case 'EHLO':
        return void (await answer('ehlo', argument, ehlo()));
      case 'HELO':
        return void (await answer('helo', argument, '250 script.test'));
      case 'STARTTLS':
        return startTls();
      case 'AUTH':
        return logIn(argument);
      case 'MAIL': {
        message = host.nextMessage();
        from = addressOf(argument);
        to = [];
        const usual =
          host.options.user !== undefined && !loggedIn ? '530 5.7.0 authentication required' : '250 2.1.0 ok';
        if ((await answer('mail', argument, usual))?.startsWith('2') !== true) message = 0;
        return;
      }
      case 'RCPT': {
        const usual = message === 0 ? '503 5.5.1 MAIL first' : '250 2.1.5 ok';
        if ((await answer('rcpt', argument, usual))?.startsWith('2') === true) to.push(addressOf(argument));
        return;
      }
      case 'DATA':
        if (
          (await answer('data', '', to.length === 0 ? '503 5.5.1 no valid recipients' : '354 go ahead'))?.startsWith(
            '3',
          ) === true
        ) {
          data = [];
          tail = Buffer.from('\r\n');
        }
        return;
      case 'RSET':
        message = 0;
        to = [];
        return void (await answer('rset', '', '250 2.0.0 ok'));
      case 'NOOP':
        return void (await answer('noop', '', '250 2.0.0 ok'));
      case 'QUIT':
        if ((await answer('quit', '', '221 2.0.0 bye')) !== undefined) end();
        return;
      default:
        return send('500 5.5.2 unknown command');
    }
  };

  const startTls = async (): Promise<void> => {
    const sent = await answer('starttls', '', host.tls === undefined ? '502 5.5.1 no TLS here' : '220 2.0.0 ready');
    if (sent?.startsWith('2') !== true || host.tls === undefined) return;
    first.removeAllListeners('data');
    socket = new TLSSocket(first, { isServer: true, ...host.tls });
    secure = true;
    text = '';
    listen();
  };

  const finish = async (chunks: readonly Buffer[]): Promise<void> => {
    const stuffed = Buffer.concat(chunks).toString('latin1').slice(0, -3);
    const raw = Buffer.from(stuffed.replace(/(^|\r\n)\.\./g, '$1.'), 'latin1');
    const messageId = /^message-id:\s*<([^>]*)>/im.exec(raw.toString('latin1'))?.[1] ?? '';
    const envelope = { from, to: [...to] };
    const sent = await answer('message', '', '250 2.0.0 queued');
    host.received({
      envelope,
      messageId,
      raw,
      reply: sent,
      accepted: sent?.startsWith('2') === true,
      connection: host.connection,
    });
    message = 0;
    to = [];
  };

  const pump = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    for (let end = text.indexOf('\r\n'); end >= 0 && data === undefined && !ended; end = text.indexOf('\r\n')) {
      const line = text.slice(0, end);
      text = text.slice(end + 2);
      await command(line);
    }
    busy = false;
  };

  /**
   * While data come, only the end of what came so far can be the end of the message: a client waits for the reply to
   * it.
   */
  const onData = (chunk: Buffer): void => {
    if (ended) return;
    if (awaiting !== undefined) {
      const resolve = awaiting;
      awaiting = undefined;
      return resolve(chunk.toString('latin1').trim());
    }
    if (data === undefined) {
      text += chunk.toString('latin1');
      return void pump();
    }
    data.push(chunk);
    tail = Buffer.concat([tail, chunk]).subarray(-END_OF_DATA.length);
    if (!tail.equals(END_OF_DATA)) return;
    const chunks = data;
    data = undefined;
    void finish(chunks);
  };

  const listen = (): void => {
    socket.on('error', () => undefined);
    socket.on('data', onData);
  };

  listen();
  void answer('connect', '', '220 script.test ESMTP');
};

const addressOf = (argument: string): string => /<(.*)>/.exec(argument)?.[1] ?? '';
