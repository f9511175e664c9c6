/** A newsletter: a lead story, a loop over stories, two columns of short notes. */
import { brandHeader, footerWith, type SampleTemplate } from './sample.js';

const stories = [
  {
    title: 'Why we roast on Tuesdays',
    summary: 'Beans need about five days to settle. Roast on Tuesday, rest over the week, and Sunday’s cup is at its best.',
    url: 'https://blog.example.com/tuesdays',
    minutes: 4,
  },
  {
    title: 'A field guide to water',
    summary: 'Coffee is mostly water, and most water is too hard. Three ways to mend that, from free to fancy.',
    url: 'https://blog.example.com/water',
    minutes: 6,
  },
  {
    title: 'Meet the growers: Guji, Ethiopia',
    summary: 'Tadesse’s farm sits at 2,100 metres. We visited during harvest and brought back forty bags and a few stories.',
    url: 'https://blog.example.com/guji',
    minutes: 8,
  },
];

const events = [
  { title: 'Open cupping, Lisbon', date: '2026-12-04', url: 'https://example.com/events/cupping' },
  { title: 'Latte art for beginners', date: '2026-12-11', url: 'https://example.com/events/latte-art' },
];

export const newsletter: SampleTemplate = {
  slug: 'newsletter',
  name: 'Newsletter',
  description: 'A lead story, more stories in a loop, events, and the way out.',
  subject: '{{issueTitle}}',
  variables: [
    { name: 'issueTitle', type: 'string', required: true, description: 'Subject and headline', defaultValue: 'The slow winter issue' },
    {
      name: 'intro',
      type: 'string',
      description: 'One paragraph',
      defaultValue: 'Shorter days, longer brews. Here is what kept us busy this month.',
    },
    { name: 'leadUrl', type: 'string', description: 'Where the big button goes', defaultValue: 'https://blog.example.com/winter' },
    {
      name: 'stories',
      type: 'array',
      required: true,
      description: 'In the order in which they are shown',
      defaultValue: stories,
      itemType: 'object',
      schema: {
        type: 'array',
        itemType: 'object',
        itemSchema: {
          properties: {
            title: { type: 'string', required: true },
            summary: { type: 'string' },
            url: { type: 'string', required: true },
            minutes: { type: 'number' },
          },
        },
      },
    },
    {
      name: 'events',
      type: 'array',
      description: 'Without any, the block is left out',
      defaultValue: [],
      itemType: 'object',
      schema: {
        type: 'array',
        itemType: 'object',
        itemSchema: {
          properties: {
            title: { type: 'string', required: true },
            date: { type: 'date', required: true, format: { style: 'date', dateStyle: 'medium' } },
            url: { type: 'string', required: true },
          },
        },
      },
    },
    {
      name: 'unsubscribeUrl',
      type: 'string',
      required: true,
      description: 'The way out, required by law in most places',
      defaultValue: 'https://example.com/unsubscribe',
    },
  ],
  schema: {
    props: { preheader: '{{intro}}', linkColor: '#9a3412', backgroundColor: '#f5f0ea' },
    sections: [
      { ...brandHeader, props: { align: 'center' } },
      {
        id: 'hero',
        type: 'main',
        props: { backgroundColor: '#7c2d12', color: '#ffffff', padding: '48px 40px', align: 'center' },
        components: [
          {
            id: 'date',
            type: 'rich-text',
            content: '<p style="font-size:13px;letter-spacing:1.5px;text-transform:uppercase;color:#fed7aa">{{__CURRENT_DATE__}}</p>',
          },
          {
            id: 'headline',
            type: 'rich-text',
            content: '<h1 style="font-size:34px">{{issueTitle}}</h1><p>{{intro}}</p>',
            props: { fontSize: 17 },
          },
          {
            id: 'read',
            type: 'button',
            content: 'Read the issue',
            props: { href: '{{leadUrl}}', backgroundColor: '#ffffff', color: '#7c2d12' },
          },
        ],
      },
      {
        id: 'stories',
        type: 'body',
        components: [
          {
            id: 'each-story',
            type: 'loop',
            props: { dataSource: '{{stories}}', itemVariable: 'story', indexVariable: 'at', emptyText: 'No stories this month.' },
            children: [
              {
                id: 'not-first',
                type: 'conditional',
                props: { condition: 'at', operator: '>', value: 0 },
                children: [{ id: 'line', type: 'divider', props: { margin: '0 0 16px' } }],
              },
              {
                id: 'has-minutes',
                type: 'conditional',
                props: { condition: 'story.minutes', operator: 'exists' },
                children: [
                  {
                    id: 'story',
                    type: 'rich-text',
                    content:
                      '<h2 style="font-size:20px">{{story.title}}</h2><p>{{story.summary}}</p><p><a href="{{story.url}}">Read more</a> <span style="font-size:14px;color:#6b7280">· {{story.minutes}} min</span></p>',
                  },
                ],
                elseChildren: [
                  {
                    id: 'story-without-minutes',
                    type: 'rich-text',
                    content:
                      '<h2 style="font-size:20px">{{story.title}}</h2><p>{{story.summary}}</p><p><a href="{{story.url}}">Read more</a></p>',
                  },
                ],
              },
            ],
          },
          {
            id: 'no-events',
            type: 'conditional',
            props: { condition: 'events', operator: 'isEmpty' },
            children: [],
            elseChildren: [
              {
                id: 'events-box',
                type: 'container',
                props: { backgroundColor: '#fff7ed', borderRadius: 8 },
                children: [
                  { id: 'events-title', type: 'rich-text', content: '<h3>Come by</h3>' },
                  {
                    id: 'events',
                    type: 'list',
                    content: '<a href="{{event.url}}">{{event.title}}</a>, {{event.date}}',
                    props: { dataSource: '{{events}}', itemVariable: 'event' },
                  },
                ],
              },
            ],
          },
        ],
      },
      footerWith({
        id: 'why',
        type: 'rich-text',
        content:
          '<p>You get this because you signed up at <a href="{{__COMPANY_WEBSITE__}}">{{__COMPANY_WEBSITE__}}</a>.<br><a href="{{unsubscribeUrl}}">Unsubscribe</a> with one click.</p>',
      }),
    ],
  },
  exampleVariables: {
    issueTitle: 'The slow winter issue',
    intro: 'Shorter days, longer brews. Here is what kept us busy this month.',
    leadUrl: 'https://blog.example.com/winter',
    stories,
    events,
    unsubscribeUrl: 'https://example.com/unsubscribe?u=8fK2',
  },
};
