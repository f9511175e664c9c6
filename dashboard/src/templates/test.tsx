/** Sends a test of an email template to people of the team. */
import { useState } from 'react';
import type { TestTemplateData, TestTemplateResponse } from '#api';
import { operation } from '../api/client';
import { ValuesForm } from '../resources/form';
import { usePlace } from '../resources/place';
import type { Field } from '../resources/resource';
import { ButtonLink, Notice } from '../ui/controls';
import { emailPath } from '../ui/links';
import type { ViewProps } from './page';
import styles from './views.module.css';

const send = operation<TestTemplateData, TestTemplateResponse>('POST', '/api/templates/{id}/test');

const TestView = ({ draft, settings }: ViewProps) => {
  const { scope } = usePlace();
  const { me, teamId } = scope;
  const [sent, setSent] = useState<Readonly<{ id: string; to: readonly string[] }>>();
  const [round, setRound] = useState(0);
  const { isChanged, variables } = draft;
  const fields: readonly Field[] = [
    {
      name: 'to',
      label: 'To',
      kind: 'lines',
      initial: me.email ?? '',
      isRequired: true,
      hint: 'Verified addresses of members of the team, a line for each, up to ten',
    },
  ];
  return (
    <div className={styles['view']}>
      <p className={styles['soft']}>
        The mail has <code>[Test]</code> before its subject and the sample data of the view Variables
        {settings.locale === undefined ? '' : `, in ${settings.locale}`}. It costs nothing and is in no figures.
      </p>
      <ValuesForm
        key={round}
        fields={fields}
        label={isChanged ? 'Save and send the test' : 'Send the test'}
        onSubmit={async ({ to }) => {
          setSent(undefined);
          const addresses = String(to)
            .split('\n')
            .map((line) => line.trim())
            .filter((line) => line !== '');
          const { id } = isChanged ? await draft.save() : draft.stored;
          const { locale, timeZone } = settings;
          const answer = await send(
            {
              path: { id },
              body: {
                to: addresses.map((email) => ({ email })),
                variables,
                ...(locale === undefined ? {} : { locale }),
                ...(timeZone === undefined ? {} : { timeZone }),
              },
            },
            { teamId },
          );
          setSent({ id: answer.id, to: addresses });
          setRound((count) => count + 1);
        }}
      />
      {sent === undefined ? null : (
        <Notice kind="note">
          <p>The test to {sent.to.join(', ')} is accepted.</p>
          <p className={styles['row']}>
            <ButtonLink href={emailPath(sent.id)}>See what becomes of it</ButtonLink>
          </p>
        </Notice>
      )}
    </div>
  );
};

export default TestView;
