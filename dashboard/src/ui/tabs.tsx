/** Tabs inside of a page. */
import type { ReactNode } from 'react';
import { Tab as AriaTab, TabList, TabPanel, Tabs as AriaTabs } from 'react-aria-components';
import { cx } from './cx';
import styles from './tabs.module.css';

export type TabOf = Readonly<{ id: string; title: string; count?: number; content: ReactNode }>;

/** Only the chosen panel is made. */
export const Tabs = ({ label, tabs }: Readonly<{ label: string; tabs: readonly TabOf[] }>) => (
  <AriaTabs className={cx(styles['tabs'])}>
    <TabList aria-label={label} className={cx(styles['list'])}>
      {tabs.map(({ id, title, count }) => (
        <AriaTab key={id} id={id} className={cx(styles['tab'])}>
          {title}
          {count === undefined || count === 0 ? null : <span className={styles['count']}>{count}</span>}
        </AriaTab>
      ))}
    </TabList>
    {tabs.map(({ id, content }) => (
      <TabPanel key={id} id={id} className={cx(styles['panel'])}>
        {content}
      </TabPanel>
    ))}
  </AriaTabs>
);
