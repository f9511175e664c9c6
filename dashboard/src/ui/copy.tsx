/** A button that copies a text, and says so. */
import { useState } from 'react';
import { Button } from './controls';
import { CheckIcon, CopyIcon } from './icons';

type CopyButtonProps = Readonly<{
  value: string;
  /** Names what is copied for those who hear the button alone; the button then shows an icon only. */
  of?: string;
  look?: 'plain' | 'main' | 'quiet';
}>;

type State = 'ready' | 'copied' | 'refused';

const words: Readonly<Record<State, string>> = {
  ready: 'Copy',
  copied: 'Copied',
  refused: 'The browser refused; select the text',
};

export const CopyButton = ({ value, of, look = 'plain' }: CopyButtonProps) => {
  const [state, setState] = useState<State>('ready');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(value);
      setState('copied');
    } catch {
      setState('refused');
    }
  };
  const icon = state === 'copied' ? <CheckIcon /> : <CopyIcon />;
  return (
    <Button
      look={look}
      isSmall={of !== undefined}
      onPress={() => void copy()}
      {...(of === undefined ? {} : { 'aria-label': `${words[state]} ${of}` })}
    >
      {icon}
      {of === undefined ? <span aria-live="polite">{words[state]}</span> : null}
    </Button>
  );
};
