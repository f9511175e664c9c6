/** Dialogs: a question before an act, with fields where it needs some, and a secret that is shown once. */
import { type ReactNode, useState } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { Button } from '../ui/controls';
import { CopyButton } from '../ui/copy';
import { cx } from '../ui/cx';
import styles from './dialogs.module.css';
import { ValuesForm } from './form';
import { usePlace } from './place';
import type { Act, Done, Secret, Values } from './resource';

type FrameProps = Readonly<{ title: string; isFirm?: boolean; onClose: () => void; children: ReactNode }>;

/** `isFirm`: neither Escape nor a click beside it closes it. */
export const DialogFrame = ({ title, isFirm = false, onClose, children }: FrameProps) => (
  <ModalOverlay
    className={cx(styles['overlay'])}
    isOpen
    isDismissable={!isFirm}
    isKeyboardDismissDisabled={isFirm}
    onOpenChange={(isOpen) => {
      if (!isOpen) onClose();
    }}
  >
    <Modal className={cx(styles['modal'])}>
      <Dialog className={cx(styles['dialog'])} role={isFirm ? 'alertdialog' : 'dialog'}>
        <Heading slot="title">{title}</Heading>
        {children}
      </Dialog>
    </Modal>
  </ModalOverlay>
);

type ActDialogProps<Row> = Readonly<{
  act: Act<Row>;
  row: Row;
  onClose: () => void;
  onDone: (done: Done) => void;
}>;

export const ActDialog = <Row,>({ act, row: now, onClose, onDone }: ActDialogProps<Row>) => {
  const { scope } = usePlace();
  // The thing as it was when the dialog was opened: a later read of it does not change what was asked.
  const [row] = useState(now);
  const asked = act.ask?.(row);
  return (
    <DialogFrame title={asked?.title ?? act.label} onClose={onClose}>
      {asked === undefined ? null : <div className={styles['text']}>{asked.text}</div>}
      <ValuesForm
        fields={act.fields?.(row, scope) ?? []}
        label={act.label}
        look={act.look === 'danger' ? 'danger' : 'main'}
        onCancel={onClose}
        onSubmit={async (values) => onDone(await act.run(row, values, scope))}
      />
    </DialogFrame>
  );
};

export const SecretDialog = ({ secret, onClose }: Readonly<{ secret: Secret; onClose: () => void }>) => (
  <DialogFrame title={secret.title} isFirm onClose={onClose}>
    <p className={styles['text']}>{secret.text}</p>
    <pre className={styles['secret']} tabIndex={0}>
      {secret.value}
    </pre>
    <div className={styles['buttons']}>
      <CopyButton value={secret.value} look="main" />
      <Button onPress={onClose}>I have kept it</Button>
    </div>
  </DialogFrame>
);

type ActButtonsProps<Row> = Readonly<{
  acts: readonly Act<Row>[];
  row: Row;
  /** Names the thing for those who hear the button without its row. */
  of?: string;
  isSmall?: boolean;
  onDone: (done: Done) => void;
}>;

/** Buttons of the acts that the reader may do. One that asks nothing is done at once. */
export const ActButtons = <Row,>({ acts, row, of, isSmall = false, onDone }: ActButtonsProps<Row>) => {
  const { scope, tell } = usePlace();
  const [asked, setAsked] = useState<Act<Row>>();
  const [running, setRunning] = useState<Act<Row>>();
  const [fault, setFault] = useState<Error>();
  const runNow = async (act: Act<Row>, values: Values): Promise<void> => {
    setRunning(act);
    setFault(undefined);
    try {
      const done = await act.run(row, values, scope);
      onDone(done);
      tell(done);
    } catch (error) {
      setFault(error instanceof Error ? error : new Error(String(error)));
    } finally {
      setRunning(undefined);
    }
  };
  const shown = acts.filter(
    (act) =>
      (act.needs === undefined || scope.team.permissions.includes(act.needs)) && (act.isFor?.(row, scope) ?? true),
  );
  return (
    <>
      {shown.map((act) => (
        <Button
          key={act.label}
          look={act.look ?? 'plain'}
          isSmall={isSmall}
          isPending={running === act}
          {...(of === undefined ? {} : { 'aria-label': `${act.label}: ${of}` })}
          onPress={() => {
            if (act.ask === undefined && act.fields === undefined) void runNow(act, {});
            else setAsked(act);
          }}
        >
          {act.label}
        </Button>
      ))}
      {fault === undefined ? null : (
        <span className={styles['fault']} role="alert">
          {fault.message}
        </span>
      )}
      {asked === undefined ? null : (
        <ActDialog
          act={asked}
          row={row}
          onClose={() => setAsked(undefined)}
          onDone={(done) => {
            setAsked(undefined);
            onDone(done);
            tell(done);
          }}
        />
      )}
    </>
  );
};
