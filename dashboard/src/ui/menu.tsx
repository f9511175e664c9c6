/** A button that opens a menu. */
import type { ReactNode } from 'react';
import {
  Menu as AriaMenu,
  MenuItem as AriaMenuItem,
  type MenuItemProps,
  type MenuProps,
  MenuTrigger,
  Popover,
  type PopoverProps,
} from 'react-aria-components';
import { cx } from './cx';
import { CheckIcon } from './icons';
import styles from './menu.module.css';

/** `trigger`: a Button of React Aria. */
export const Menu = ({
  trigger,
  placement = 'bottom start',
  ...props
}: Omit<MenuProps<object>, 'className'> & Readonly<{ trigger: ReactNode; placement?: PopoverProps['placement'] }>) => (
  <MenuTrigger>
    {trigger}
    <Popover className={cx(styles['popover'])} {...(placement === undefined ? {} : { placement })}>
      <AriaMenu {...props} className={cx(styles['menu'])} />
    </Popover>
  </MenuTrigger>
);

/** A chosen item of a menu with choices has a mark. */
export const MenuItem = ({
  children,
  ...props
}: Omit<MenuItemProps, 'className' | 'children'> & { children: ReactNode }) => (
  <AriaMenuItem {...props} className={cx(styles['item'])}>
    {({ isSelected, selectionMode }) => (
      <>
        <span className={styles['text']}>{children}</span>
        {selectionMode === 'none' ? null : <span className={styles['mark']}>{isSelected ? <CheckIcon /> : null}</span>}
      </>
    )}
  </AriaMenuItem>
);

export const popoverClass = cx(styles['popover']);
export const sectionClass = cx(styles['section']);
