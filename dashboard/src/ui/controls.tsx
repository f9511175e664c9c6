/** The controls of all pages: React Aria's behaviour in the look of sealpost. */
import type { ReactNode } from 'react';
import {
  Button as AriaButton,
  type ButtonProps,
  FieldError,
  Input,
  Label,
  Link as AriaLink,
  type LinkProps,
  TextField as AriaTextField,
  type TextFieldProps,
} from 'react-aria-components';
import styles from './controls.module.css';
import { cx } from './cx';

type Look = 'plain' | 'main' | 'quiet' | 'danger';

type OwnButtonProps = Omit<ButtonProps, 'className' | 'type' | 'onPress'> &
  Readonly<{ look?: Look; isSmall?: boolean; type?: 'button' | 'submit'; onPress?: () => void }>;

/**
 * `isPending`: it waits and keeps the focus. React Aria's own waiting leaves an image without a name in the page for
 * seconds, when the button goes.
 */
export const Button = ({
  look = 'plain',
  isSmall = false,
  isPending = false,
  type = 'button',
  onPress,
  ...props
}: OwnButtonProps) => (
  <AriaButton
    {...props}
    type={isPending ? 'button' : type}
    {...(isPending ? { 'data-pending': true } : {})}
    {...(isPending || onPress === undefined ? {} : { onPress: () => onPress() })}
    className={cx(styles['button'], styles[look], isSmall && styles['small'])}
  />
);

/** A link that looks like a button. */
export const ButtonLink = ({ look = 'plain', ...props }: Omit<LinkProps, 'className'> & Readonly<{ look?: Look }>) => (
  <AriaLink {...props} className={cx(styles['button'], styles[look])} />
);

/** A link in a text. */
export const TextLink = (props: Omit<LinkProps, 'className'>) => <AriaLink {...props} className={cx(styles['link'])} />;

/** `hint`: below the field. */
export const TextField = ({
  label,
  hint,
  placeholder,
  ...props
}: Omit<TextFieldProps, 'className'> & Readonly<{ label: string; hint?: ReactNode; placeholder?: string }>) => (
  <AriaTextField {...props} className={cx(styles['field'])}>
    <Label>{label}</Label>
    <Input className={cx(styles['input'])} {...(placeholder === undefined ? {} : { placeholder })} />
    {hint === undefined ? null : <span className={styles['hint']}>{hint}</span>}
    <FieldError className={cx(styles['fault'])} />
  </AriaTextField>
);

/** A sentence that a reader should not miss; a fault is read out at once. */
export const Notice = ({ kind, children }: Readonly<{ kind: 'fault' | 'note'; children: ReactNode }>) => (
  <div className={cx(styles['notice'], styles[kind])} role={kind === 'fault' ? 'alert' : 'status'}>
    {children}
  </div>
);

export const Spinner = ({ label = 'Loading' }: Readonly<{ label?: string }>) => (
  <span className={styles['spinner']} role="progressbar" aria-label={label} />
);
