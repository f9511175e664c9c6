/** A dialog over the page: it has the focus until it is closed. */
import type { ReactNode } from 'react';
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { cx } from './cx';
import styles from './dialog.module.css';

/** `children`: text and fields. `acts`: the buttons below them. `isAlert`: it asks before something is lost. */
export const Dialog = ({
  title,
  isOpen,
  onClose,
  children,
  acts,
  isAlert = false,
}: Readonly<{
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
  acts: ReactNode;
  isAlert?: boolean;
}>) => (
  <ModalOverlay
    className={cx(styles['overlay'])}
    isOpen={isOpen}
    isDismissable={!isAlert}
    onOpenChange={(open) => {
      if (!open) onClose();
    }}
  >
    <Modal className={cx(styles['modal'])}>
      <AriaDialog className={cx(styles['dialog'])} role={isAlert ? 'alertdialog' : 'dialog'}>
        <Heading slot="title" className={cx(styles['title'])}>
          {title}
        </Heading>
        {children}
        <div className={styles['acts']}>{acts}</div>
      </AriaDialog>
    </Modal>
  </ModalOverlay>
);
