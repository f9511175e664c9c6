/** The search box of the list of emails, with a box that explains its words. */
import { useEffect, useRef, useState } from 'react';
import {
  Button as AriaButton,
  Dialog,
  DialogTrigger,
  Heading,
  Input,
  Popover,
  SearchField,
  Text,
} from 'react-aria-components';
import { cx } from '../../ui/cx';
import { CloseIcon, HelpIcon, SearchIcon } from '../../ui/icons';
import { popoverClass } from '../../ui/menu';
import { useIsPhone } from '../../ui/width';
import { formatSearch, help, parseSearch, type EmailSearch } from './search';
import styles from './search-box.module.css';

type SearchBoxProps = Readonly<{
  search: EmailSearch;
  fault: string | undefined;
  onSearch: (search: EmailSearch) => void;
}>;

/** Searches on Enter. The address says what is searched, so the box follows it: Back brings the earlier words. */
export const SearchBox = ({ search, fault, onSearch }: SearchBoxProps) => {
  const shown = formatSearch(search);
  const [text, setText] = useState(shown);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setText(shown), [shown]);
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLElement && event.target.closest('input, textarea, [role=dialog]');
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
      event.preventDefault();
      input.current?.focus();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
  return (
    <search className={styles['search']}>
      <SearchField
        aria-label="Search emails"
        className={cx(styles['box'])}
        value={text}
        onChange={setText}
        onSubmit={(value) => onSearch(parseSearch(value))}
        onClear={() => onSearch({})}
        isInvalid={fault !== undefined}
      >
        <SearchIcon />
        <Input ref={input} placeholder={useIsPhone() ? 'Search' : 'Subject, name or address; to: status: tag: …'} />
        {text === '' ? (
          <kbd className={styles['key']} aria-hidden="true">
            /
          </kbd>
        ) : (
          <AriaButton className={cx(styles['clear'])} aria-label="Clear the search">
            <CloseIcon />
          </AriaButton>
        )}
        {fault === undefined ? null : (
          <Text slot="errorMessage" className={cx(styles['fault'])}>
            {fault}
          </Text>
        )}
      </SearchField>
      <DialogTrigger>
        <AriaButton className={cx(styles['help'])} aria-label="Words of the search">
          <HelpIcon />
        </AriaButton>
        <Popover className={cx(popoverClass, styles['popover'])} placement="bottom end">
          <Dialog className={cx(styles['dialog'])}>
            <Heading slot="title">Words of the search</Heading>
            <p>An email must match all of them. Text without a word is found in subjects, names and addresses.</p>
            <dl>
              {help.map(({ word, example, text: meaning }) => (
                <div key={word}>
                  <dt>
                    <code>{example}</code>
                  </dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
            <p>
              A value with blanks stands in quotes: <code>meta:"plan=small business"</code>.
            </p>
          </Dialog>
        </Popover>
      </DialogTrigger>
    </search>
  );
};
