// The documentation as a site. bin/build-guide.js gives the path below which the site is served, and completes what astro writes.
import { join } from 'node:path';
import starlight from '@astrojs/starlight';
import { defineConfig, passthroughImageService } from 'astro/config';
import { sidebar } from './src/sidebar.js';

const output = join(import.meta.dirname, '../build');

export default defineConfig({
  base: process.env.GUIDE_BASE ?? '/docs/guide',
  outDir: join(output, 'guide-new'),
  cacheDir: join(output, 'guide-cache'),
  publicDir: './public',
  trailingSlash: 'always',
  build: { format: 'directory', inlineStylesheets: 'never' },
  image: { service: passthroughImageService() },
  telemetry: false,
  devToolbar: { enabled: false },
  vite: { build: { assetsInlineLimit: 0 } },
  integrations: [
    starlight({
      title: 'sealpost',
      description: 'A transactional email service that you run yourself.',
      logo: { src: './src/mark.svg', alt: '' },
      favicon: '/mark.svg',
      customCss: ['./src/guide.css'],
      sidebar,
      pagination: true,
      credits: false,
      tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 3 },
      markdown: { processedDirs: ['../docs'] },
      components: {
        Footer: './src/components/Footer.astro',
        SocialIcons: './src/components/Links.astro',
        Head: './src/components/Head.astro',
        Search: './src/components/Search.astro',
      },
      expressiveCode: {
        defaultProps: { frame: 'none', wrap: true },
        themes: ['github-dark-default', 'github-light-default'],
        styleOverrides: { borderRadius: '6px', frames: { shadowColor: 'transparent' } },
      },
    }),
  ],
});
