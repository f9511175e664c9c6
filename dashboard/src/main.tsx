/** Starts the dashboard in the page. */
import './styles/base.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { I18nProvider } from 'react-aria-components';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/queries';
import { router } from './router';
import { applyTheme } from './ui/theme';

applyTheme();

/** The build leaves out the sentences of React Aria in other languages, and without one of them a page ends. */
const locale = navigator.language.startsWith('en') ? navigator.language : 'en-US';

const root = document.getElementById('app');
if (root === null) throw new Error('the page has no place for the dashboard');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <I18nProvider locale={locale}>
        <RouterProvider router={router} />
      </I18nProvider>
    </QueryClientProvider>
  </StrictMode>,
);
