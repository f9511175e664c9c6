/** Example bodies of what people do, for the API description. */
import type { LoginRequest, RefreshRequest, RegisterRequest, UpdateUserRequest } from './people.js';

const email = 'ada@example.com';
const password = 'a pelican in the rain';

export const authExamples = {
  register: {
    invited: { summary: 'Somebody who needs no token', value: { email, password, name: 'Ada Example' } satisfies RegisterRequest },
  },
  login: {
    password: { summary: 'With a password alone', value: { email, password } satisfies LoginRequest },
    browser: { summary: 'For a page in a browser', value: { email, password, session: 'cookie' } satisfies LoginRequest },
  },
  refresh: {
    token: {
      summary: 'The token of the last answer',
      value: { refreshToken: `sealpost_rt_${'A'.repeat(87)}` } satisfies RefreshRequest,
    },
  },
  confirm: { token: { summary: 'What the link of the mail carries, and the password of now', value: { token: 'A'.repeat(65), password } } },
  address: { address: { summary: 'The address of the user', value: { email } } },
  reset: { token: { summary: 'What the link of the mail carries', value: { token: 'A'.repeat(65), password } } },
  changeAddress: { address: { summary: 'Another address', value: { email: 'ada@example.org', password } } },
  updateUser: { name: { summary: 'Another name', value: { name: 'Ada E.' } satisfies UpdateUserRequest } },
};
