/** Sets the title of the page while its component is shown. */
import { useEffect } from 'react';

export const useTitle = (title: string): void =>
  useEffect(() => {
    document.title = `${title} · sealpost`;
  }, [title]);
