/** The acts of a person on an email: each is offered where the role has its permission and the state allows it. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Button as AriaButton } from 'react-aria-components';
import type {
  CancelEmailData,
  CancelEmailResponse,
  DeleteEmailData,
  DeleteEmailResponse,
  RescheduleEmailData,
  RescheduleEmailResponse,
  ResendEmailData,
  ResendEmailResponse,
  RetryEmailData,
  RetryEmailResponse,
} from '#api';
import { call } from '../../api/client';
import { useTeam } from '../../api/team';
import { serviceUrl } from '../../api/values';
import { Button, Notice, TextField } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { Dialog } from '../../ui/dialog';
import { MoreIcon } from '../../ui/icons';
import { Menu, MenuItem } from '../../ui/menu';
import { inWords } from '../sign-in';
import { curlOf } from './curl';
import { type Content, type Email, emailKey } from './data';
import styles from './email.module.css';
import { isCancellable, isRetryable } from './words';

type Act = 'cancel' | 'reschedule' | 'resend' | 'delete';

export const Acts = ({ email }: Readonly<{ email: Email }>) => {
  const team = useTeam();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<Act>();
  const [isBusy, setIsBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const [note, setNote] = useState<string>();
  const { id } = email;
  const may = (permission: 'emails:send' | 'emails:content' | 'emails:delete'): boolean =>
    team.permissions.includes(permission);

  const run = async (act: () => Promise<unknown>, done: string): Promise<boolean> => {
    setIsBusy(true);
    setFault(undefined);
    setNote(undefined);
    try {
      await act();
      setAsked(undefined);
      setNote(done);
      return true;
    } catch (error) {
      setFault(inWords(error));
      return false;
    } finally {
      setIsBusy(false);
    }
  };
  const runAndRead = async (act: () => Promise<unknown>, done: string): Promise<void> => {
    await run(act, done);
    await client.invalidateQueries({ queryKey: emailKey(team.id, id), exact: true });
  };
  const path = { id };
  const options = { teamId: team.id };
  const retry = () =>
    call<RetryEmailData, RetryEmailResponse>('POST', { url: '/api/emails/{id}/retry', path }, options);
  const cancel = () =>
    call<CancelEmailData, CancelEmailResponse>('POST', { url: '/api/emails/{id}/cancel', path }, options);
  const reschedule = (body: RescheduleEmailData['body']) =>
    call<RescheduleEmailData, RescheduleEmailResponse>('PATCH', { url: '/api/emails/{id}', path, body }, options);
  const remove = async (): Promise<void> => {
    const isDone = await run(
      () => call<DeleteEmailData, DeleteEmailResponse>('DELETE', { url: '/api/emails/{id}', path }, options),
      '',
    );
    if (!isDone) return;
    client.removeQueries({ queryKey: ['emails'] });
    await navigate({ to: '/emails', search: (before) => before, replace: true });
    client.removeQueries({ queryKey: emailKey(team.id, id) });
  };
  const resend = async (to: readonly string[]): Promise<void> => {
    const body = to.length === 0 ? {} : { to: to.map((address) => ({ email: address })) };
    let made: string | undefined;
    const isDone = await run(async () => {
      const { id: copied } = await call<ResendEmailData, ResendEmailResponse>(
        'POST',
        { url: '/api/emails/{id}/resend', path, body },
        options,
      );
      made = copied;
    }, '');
    if (isDone && made !== undefined)
      await navigate({ to: '/emails/$id', params: { id: made }, search: (before) => before });
  };
  const copy = async (): Promise<void> => {
    const content = client
      .getQueriesData<Content>({ queryKey: [...emailKey(team.id, id), 'content'] })
      .find(([, data]) => data !== undefined)?.[1];
    await run(
      () => navigator.clipboard.writeText(curlOf(email, content, serviceUrl.href)),
      'The command is copied. It sends a new email; put your key into $API_KEY.',
    );
  };
  const close = (): void => {
    setAsked(undefined);
    setFault(undefined);
  };
  const mayCopy =
    may('emails:content') && !email.archived && email.confidential !== true && email.templateId !== 'smtp';
  const mayResend = may('emails:send') && may('emails:content') && !email.archived && email.confidential !== true;
  const mayDelete = may('emails:delete') && email.status !== 'processing';
  return (
    <>
      <div className={cx(styles['row'], styles['acts'])}>
        {may('emails:send') && isRetryable(email) ? (
          <Button look="main" isPending={isBusy} onPress={() => void runAndRead(retry, 'It is tried again.')}>
            Try again
          </Button>
        ) : null}
        {may('emails:send') && email.status === 'scheduled' ? (
          <Button onPress={() => setAsked('reschedule')}>Change the time</Button>
        ) : null}
        {may('emails:send') && isCancellable(email) ? (
          <Button onPress={() => setAsked('cancel')}>Cancel it</Button>
        ) : null}
        {mayCopy || mayResend || mayDelete ? (
          <Menu
            aria-label="More"
            placement="bottom end"
            trigger={
              <AriaButton className={cx(styles['more'])} aria-label="More">
                <MoreIcon />
              </AriaButton>
            }
          >
            {mayResend ? (
              <MenuItem id="resend" onAction={() => setAsked('resend')}>
                Send again as a copy…
              </MenuItem>
            ) : null}
            {mayCopy ? (
              <MenuItem id="curl" onAction={() => void copy()}>
                Copy as curl
              </MenuItem>
            ) : null}
            {mayDelete ? (
              <MenuItem id="delete" onAction={() => setAsked('delete')}>
                Delete…
              </MenuItem>
            ) : null}
          </Menu>
        ) : null}
      </div>
      {asked === undefined && fault !== undefined ? (
        <div className={styles['note']}>
          <Notice kind="fault">{fault}</Notice>
        </div>
      ) : null}
      {note === undefined || note === '' ? null : (
        <div className={styles['note']}>
          <Notice kind="note">{note}</Notice>
        </div>
      )}
      <Ask
        title="Cancel this email?"
        isOpen={asked === 'cancel'}
        fault={fault}
        act="Cancel the email"
        keep="Keep it"
        isBusy={isBusy}
        onClose={close}
        onAct={() => void runAndRead(cancel, 'It is cancelled and does not leave.')}
      >
        <p>It does not leave, for none of its {email.recipientCount} recipients. Its record stays.</p>
      </Ask>
      <Ask
        title="Delete this email?"
        isOpen={asked === 'delete'}
        fault={fault}
        act="Delete for good"
        keep="Keep it"
        isBusy={isBusy}
        onClose={close}
        onAct={() => void remove()}
      >
        <p>This cannot be undone. sealpost destroys the key of the email, and with it:</p>
        <ul>
          <li>addresses, names and the subject</li>
          <li>content, variables and metadata</li>
          {email.attachmentCount === 0 ? null : (
            <li>{email.attachmentCount === 1 ? 'its attachment' : `its ${email.attachmentCount} attachments`}</li>
          )}
          <li>the record, its timeline and the replies of hosts</li>
        </ul>
        {email.status === 'scheduled' || email.status === 'queued' ? <p>It does not leave any more.</p> : null}
      </Ask>
      <Resend
        key={`resend ${asked === 'resend'}`}
        email={email}
        isOpen={asked === 'resend'}
        isBusy={isBusy}
        fault={fault}
        onClose={close}
        onAct={(to) => void resend(to)}
      />
      <Reschedule
        key={`${email.scheduledAt} ${asked === 'reschedule'}`}
        email={email}
        isOpen={asked === 'reschedule'}
        isBusy={isBusy}
        fault={fault}
        onClose={close}
        onAct={(scheduledAt) => void runAndRead(() => reschedule({ scheduledAt }), 'It has another time.')}
      />
    </>
  );
};

type AskProps = Readonly<{
  title: string;
  isOpen: boolean;
  fault: string | undefined;
  act: string;
  keep: string;
  isBusy: boolean;
  onClose: () => void;
  onAct: () => void;
  children: ReactNode;
}>;

const Ask = ({ title, isOpen, fault, act, keep, isBusy, onClose, onAct, children }: AskProps) => (
  <Dialog
    isAlert
    title={title}
    isOpen={isOpen}
    onClose={onClose}
    acts={
      <>
        <Button onPress={onClose} autoFocus>
          {keep}
        </Button>
        <Button look="main" isPending={isBusy} onPress={onAct}>
          {act}
        </Button>
      </>
    }
  >
    {children}
    {fault === undefined ? null : <Notice kind="fault">{fault}</Notice>}
  </Dialog>
);

const Resend = ({
  email: { recipientCount },
  isOpen,
  isBusy,
  fault,
  onClose,
  onAct,
}: Readonly<{
  email: Email;
  isOpen: boolean;
  isBusy: boolean;
  fault: string | undefined;
  onClose: () => void;
  onAct: (to: readonly string[]) => void;
}>) => {
  const [to, setTo] = useState('');
  const addresses = to.split(/[,;\s]+/).filter((address) => address !== '');
  return (
    <Dialog
      title="Send it again as a copy?"
      isOpen={isOpen}
      onClose={onClose}
      acts={
        <>
          <Button onPress={onClose}>Do not send</Button>
          <Button look="main" isPending={isBusy} onPress={() => onAct(addresses)}>
            Send the copy
          </Button>
        </>
      }
    >
      <p>A new email leaves at once, with the same version of the template or the same content, values and files.</p>
      <TextField
        label="To"
        value={to}
        onChange={setTo}
        placeholder={recipientCount === 1 ? 'The same recipient' : `The same ${recipientCount} recipients`}
        hint="Other addresses, separated by commas. Empty: the recipients of this email"
      />
      {fault === undefined ? null : <Notice kind="fault">{fault}</Notice>}
    </Dialog>
  );
};

const MINUTE_MS = 60_000;

/** In: a moment. Out: the form of a field for local date and time. */
const localForm = (at: Date): string =>
  new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);

const Reschedule = ({
  email: { scheduledAt },
  isOpen,
  isBusy,
  fault,
  onClose,
  onAct,
}: Readonly<{
  email: Email;
  isOpen: boolean;
  isBusy: boolean;
  fault: string | undefined;
  onClose: () => void;
  onAct: (scheduledAt: string) => void;
}>) => {
  const [value, setValue] = useState(() => localForm(scheduledAt === null ? new Date() : new Date(scheduledAt)));
  const at = new Date(value);
  const isMoment = !Number.isNaN(at.getTime());
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Dialog
      title="When should it leave?"
      isOpen={isOpen}
      onClose={onClose}
      acts={
        <>
          <Button onPress={onClose}>Keep the time</Button>
          <Button look="main" isPending={isBusy} isDisabled={!isMoment} onPress={() => onAct(at.toISOString())}>
            Set the time
          </Button>
        </>
      }
    >
      <TextField
        label="Date and time"
        type="datetime-local"
        value={value}
        onChange={setValue}
        hint={`Your time zone: ${zone}`}
      />
      {fault === undefined ? null : <Notice kind="fault">{fault}</Notice>}
    </Dialog>
  );
};
