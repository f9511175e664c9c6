/** An email template that uses whatever there is. */
import type { JsonObject } from '../../src/domain/core/json.js';
import { common, variables } from './api-parts-of-all.js';

export const emailOfAll: JsonObject = {
  subject: 'Hello {{name}}',
  variables,
  translations: { de: { 'Hello {{name}}': 'Hallo {{name}}', Item: 'Posten' }, 'de-AT': {} },
  schema: {
    props: {
      preheader: 'a',
      direction: 'ltr',
      backgroundColor: '#eee',
      contentBackgroundColor: 'white',
      color: 'black',
      linkColor: 'blue',
      fontFamily: 'Arial',
      fontSize: 16,
      lineHeight: '1.4',
      width: 600,
      borderRadius: 8,
    },
    sections: [
      { id: 'head', type: 'header', components: [] },
      {
        id: 'main',
        type: 'main',
        props: {
          backgroundColor: 'white',
          color: 'black',
          linkColor: 'blue',
          padding: 8,
          align: 'start',
          fontSize: '12pt',
          fontFamily: 'Arial',
          lineHeight: 1.5,
        },
        components: [
          ...common,
          {
            id: 'go',
            type: 'button',
            content: 'Go',
            props: {
              href: 'https://example.com/{{name}}',
              backgroundColor: 'red',
              color: 'white',
              borderRadius: 2,
              border: 1,
              padding: 4,
              align: 'center',
              fullWidth: true,
              fontSize: 12,
              fontFamily: 'Arial',
              hideWhenEmpty: true,
            },
          },
          {
            id: 'html',
            type: 'html-fragment',
            content: '<b>{{name}}</b>',
            props: { padding: 4, keepLines: true, hideWhenEmpty: true },
          },
        ],
      },
    ],
  },
};
