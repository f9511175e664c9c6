/** Example bodies of what people do with their own account, for the API description. */
import type { ChangePasswordRequest, EraseOwnUserRequest } from './own-account.js';
import type { ConfirmSecondFactorRequest, PrepareSecondFactorRequest, WithCodeRequest } from './second-factor.js';

const password = 'a pelican in the rain';

export const ownAccountExamples = {
  prepare: { password: { summary: 'With the password', value: { password } satisfies PrepareSecondFactorRequest } },
  confirm: { code: { summary: 'A code of the app', value: { code: '482913' } satisfies ConfirmSecondFactorRequest } },
  withCode: { both: { summary: 'With the password and a code', value: { password, code: '482913' } satisfies WithCodeRequest } },
  erase: { password: { summary: 'With the password', value: { password } satisfies EraseOwnUserRequest } },
  changePassword: {
    another: {
      summary: 'Another password',
      value: { currentPassword: password, newPassword: 'two herons on a roof' } satisfies ChangePasswordRequest,
    },
  },
};
