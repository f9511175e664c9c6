/** The frame of the pages for people who are not signed in, as the account pages have it. */
import type { ReactNode } from 'react';
import styles from './card.module.css';

export const Card = ({ title, children }: Readonly<{ title: string; children: ReactNode }>) => (
  <div className={styles['ground']}>
    <main className={styles['card']}>
      <p className={styles['brand']}>
        <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" fill="#b3261e" />
          <path d="M7 11h18v11H7zm0 0 9 7 9-7" fill="none" stroke="#fff" strokeWidth="2" strokeLinejoin="round" />
        </svg>
        sealpost
      </p>
      <h1>{title}</h1>
      {children}
    </main>
  </div>
);
