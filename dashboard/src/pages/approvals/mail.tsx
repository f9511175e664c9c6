/** The mail of an approval as it would leave: its look, text, header fields, values and files. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type {
  GetApprovalAttachmentData,
  GetApprovalContentData,
  GetApprovalContentResponse,
  GetApprovalResponse,
  ShowApprovalData,
} from '#api';
import { addressOf, ApiFault, operation, readFile } from '../../api/client';
import type { Scope } from '../../resources/resource';
import { Fault, Loading, State } from '../../ui/states';
import { Tabs } from '../../ui/tabs';
import emailStyles from '../email/email.module.css';
import { AttachedFile, Headers, type InFrame, MailLook, Text, Values } from '../email/mail';
import styles from './approvals.module.css';

const getContent = operation<GetApprovalContentData, GetApprovalContentResponse>('GET', '/api/approvals/{id}/content');

type MailProps = Readonly<{ approval: GetApprovalResponse; scope: Scope }>;

/** It is read once: all that it depends on was fixed when it was asked for. */
export const ApprovalMail = ({ approval: { id, proposal }, scope: { team, teamId } }: MailProps) => {
  const isAllowed = team.permissions.includes('emails:content');
  const { data, error, refetch } = useQuery({
    queryKey: ['mail of approval', teamId, id],
    enabled: isAllowed,
    staleTime: Infinity,
    queryFn: ({ signal }) => getContent({ path: { id } }, { teamId, signal }),
  });
  const part = (show: (content: GetApprovalContentResponse) => ReactNode): ReactNode => {
    if (!isAllowed)
      return (
        <State title="Your role does not show mails">
          <p>Members, admins and owners of the team can read what would leave.</p>
        </State>
      );
    if (data !== undefined) return show(data);
    if (error === null) return <Loading label="Loading the mail" />;
    // A refusal in words of the send call: the mail cannot be made any more as it was asked for.
    return error instanceof ApiFault && error.status >= 400 && error.status < 500 && error.status !== 429 ? (
      <State title="The mail cannot be made" isAlert>
        <p>{error.message}</p>
      </State>
    ) : (
      <Fault fault={error} retry={() => void refetch()} />
    );
  };
  return (
    <section className={styles['mail']} aria-label="The mail">
      <Tabs
        label="The mail"
        tabs={[
          {
            id: 'mail',
            title: 'Mail',
            content: part((content) => (
              <MailLook
                content={content}
                subject={content.subject}
                below="This is the mail as it leaves. Tracking, if it is on, is added when it leaves. A link asks before it leads to its address."
                addressIn={(look) => {
                  const page: InFrame<ShowApprovalData> = {
                    url: '/api/approvals/{id}/page',
                    path: { id },
                    query: { team: teamId, ...look },
                  };
                  return addressOf(page);
                }}
              />
            )),
          },
          {
            id: 'text',
            title: 'Text',
            content: part(({ text }) => <Text text={text} none="This mail has no text part." />),
          },
          { id: 'headers', title: 'Headers', content: part(({ headers }) => <Headers headers={headers} />) },
          {
            id: 'variables',
            title: 'Variables',
            content: part(({ variables, metadata }) => <Given variables={variables} metadata={metadata} />),
          },
          {
            id: 'attachments',
            title: 'Attachments',
            count: proposal?.attachments.length ?? 0,
            content: part((content) => <Files teamId={teamId} id={id} content={content} />),
          },
        ]}
      />
    </section>
  );
};

const Given = ({ variables, metadata }: Pick<GetApprovalContentResponse, 'variables' | 'metadata'>) => {
  const isEmpty = (values: object): boolean => Object.keys(values).length === 0;
  if (isEmpty(variables) && isEmpty(metadata)) return <State title="The call gave no variables" />;
  return (
    <div className={emailStyles['stack']}>
      {isEmpty(variables) ? null : <Values title="Variables" values={variables} />}
      {isEmpty(metadata) ? null : <Values title="Metadata of the call" values={metadata} />}
    </div>
  );
};

const Files = ({
  teamId,
  id,
  content: { attachments },
}: Readonly<{ teamId: string; id: string; content: GetApprovalContentResponse }>) =>
  attachments.length === 0 ? (
    <State title="No attachments">
      <p>The mail leaves without files.</p>
    </State>
  ) : (
    <div className={emailStyles['stack']}>
      <ul className={emailStyles['files']}>
        {attachments.map((file) => (
          <li key={file.index}>
            <AttachedFile
              file={file}
              read={() => {
                const data: GetApprovalAttachmentData = {
                  url: '/api/approvals/{id}/attachments/{index}',
                  path: { id, index: String(file.index) },
                };
                return readFile(data, { teamId });
              }}
            />
          </li>
        ))}
      </ul>
    </div>
  );
