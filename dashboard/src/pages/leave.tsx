/** Asks before a link of a mail is followed: the address stands behind the # of this page. */
import { useEffect, useState } from 'react';
import { Notice } from '../ui/controls';
import { useTitle } from '../ui/title';
import { Card } from './card';
import styles from './card.module.css';

const addressIn = (hash: string): string => {
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    return '';
  }
};

/** Addresses of other kinds would act in the page. */
const isLink = (address: string): boolean => /^(?:https?:\/\/|mailto:|tel:)/i.test(address) && URL.canParse(address);

export const LeavePage = () => {
  const [address, setAddress] = useState(() => addressIn(window.location.hash));
  useTitle('A link of a mail');
  useEffect(() => {
    const changed = (): void => setAddress(addressIn(window.location.hash));
    window.addEventListener('hashchange', changed);
    return () => window.removeEventListener('hashchange', changed);
  }, []);
  if (!isLink(address))
    return (
      <Card title="There is no link to follow">
        <p>The address of this page names none that a browser can open.</p>
      </Card>
    );
  const { host } = new URL(address);
  return (
    <Card title="Follow this link?">
      <p className={styles['address']} tabIndex={0}>
        <bdi>{address}</bdi>
      </p>
      <Notice kind="note">
        {host === '' ? (
          'It opens another program.'
        ) : (
          <>
            It leads to <strong>{host}</strong>. What it does there is done: a link to confirm or unsubscribe works as
            if its recipient had followed it.
          </>
        )}
      </Notice>
      <ul className={styles['ways']}>
        <li>
          <a href={address} rel="noreferrer noopener">
            Follow the link
          </a>
        </li>
      </ul>
      <p className={styles['below']}>To stay, close this tab.</p>
    </Card>
  );
};
