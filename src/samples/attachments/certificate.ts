/** A certificate in landscape: a frame, a name, a date, who signs. */
import type { SampleAttachment } from './sample.js';

const award = { course: 'Barista foundations', hours: 24, completedAt: '2026-11-20', number: 'C-2026-0093' };
const person = { name: 'Ada Example' };
const signer = { name: 'Grace Example', role: 'Head of training' };

export const certificateSample: SampleAttachment = {
  slug: 'certificate',
  name: 'Certificate',
  description: 'A certificate of completion, A4 in landscape.',
  locale: 'en-GB',
  timeZone: 'Europe/Lisbon',
  variables: [
    {
      name: 'person',
      type: 'object',
      required: true,
      defaultValue: person,
      schema: { type: 'object', properties: { name: { type: 'string', required: true } } },
    },
    {
      name: 'award',
      type: 'object',
      required: true,
      defaultValue: award,
      schema: {
        type: 'object',
        properties: {
          course: { type: 'string', required: true },
          hours: { type: 'number', required: true },
          completedAt: { type: 'date', required: true, format: { style: 'date', dateStyle: 'long' } },
          number: { type: 'string', required: true },
        },
      },
    },
    {
      name: 'signer',
      type: 'object',
      defaultValue: signer,
      schema: { type: 'object', properties: { name: { type: 'string' }, role: { type: 'string' } } },
    },
  ],
  schema: {
    outputFormats: ['pdf'],
    pages: [
      {
        pageId: 'certificate',
        pageName: 'Certificate',
        pageSettings: {
          format: 'A4',
          orientation: 'landscape',
          margin: { top: '16mm', right: '18mm', bottom: '16mm', left: '18mm' },
          backgroundColor: '#fbf8f1',
        },
        sections: [
          {
            id: 'main',
            type: 'main',
            props: { align: 'center', color: '#1f2937' },
            components: [
              {
                id: 'frame',
                type: 'container',
                props: { border: '3px solid #0f3d3a', padding: '66px 36px 48px 36px', align: 'center' },
                children: [
                  {
                    id: 'who',
                    type: 'rich-text',
                    content: '<p style="font-size:18px;color:#0f3d3a">{{__COMPANY_NAME__}} certifies that</p>',
                    props: { align: 'center' },
                  },
                  {
                    id: 'name',
                    type: 'rich-text',
                    content: '<p style="font-size:56px"><strong>{{person.name}}</strong></p>',
                    props: { align: 'center', padding: '26px 0 16px 0' },
                  },
                  { id: 'rule', type: 'divider', props: { color: '#b45309', thickness: 1, width: '40%' } },
                  {
                    id: 'what',
                    type: 'rich-text',
                    content:
                      '<p style="font-size:18px">has completed the course</p><p style="font-size:32px;color:#0f3d3a"><strong>{{award.course}}</strong></p><p style="font-size:16px">{{award.hours}} hours, {{award.completedAt}}</p>',
                    props: { align: 'center', padding: '22px 0 48px 0' },
                  },
                  {
                    id: 'signed',
                    type: 'columns',
                    props: { widths: ['50%', '50%'], gap: 40, verticalAlign: 'bottom' },
                    children: [
                      {
                        id: 'signer',
                        type: 'rich-text',
                        content: '<p><strong>{{signer.name}}</strong><br>{{signer.role}}</p>',
                        props: { align: 'center' },
                      },
                      {
                        id: 'number',
                        type: 'qr-code',
                        props: { value: '{{__COMPANY_WEBSITE__}}/certificates/{{award.number}}', size: 84, align: 'center' },
                      },
                    ],
                  },
                  {
                    id: 'printed',
                    type: 'rich-text',
                    content: '<p style="font-size:9px;color:#6b7280">Certificate {{award.number}}</p>',
                    props: { align: 'center', padding: '14px 0 0 0' },
                  },
                ],
              },
            ],
          },
        ],
      },
    ],
  },
  exampleVariables: { person, award, signer },
};
