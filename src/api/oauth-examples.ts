/** Example bodies for the description of the endpoints of apps. */
import type { CreateOAuthAppRequest, RotateAppSecretRequest, UpdateOAuthAppRequest } from './apps.js';

export const createOAuthAppExamples = {
  web: {
    summary: 'A web application',
    value: {
      name: 'Shop dashboard',
      homepage: 'https://shop.example.com',
      redirectUris: ['https://shop.example.com/callback'],
      scopes: ['emails:send', 'emails:read', 'profile:read'],
    } satisfies CreateOAuthAppRequest,
  },
  browser: {
    summary: 'A program without a server of its own',
    value: {
      name: 'Mail viewer',
      kind: 'public',
      redirectUris: ['https://viewer.example.com/', 'http://127.0.0.1:8976/callback'],
      scopes: ['emails:read'],
    } satisfies CreateOAuthAppRequest,
  },
};

export const updateOAuthAppExamples = {
  name: { summary: 'Another name', value: { name: 'Shop back office' } satisfies UpdateOAuthAppRequest },
};

export const rotateAppSecretExamples = {
  day: { summary: 'Both secrets are good for a day', value: { overlapHours: 24 } satisfies RotateAppSecretRequest },
};
