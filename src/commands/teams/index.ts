/** The commands of teams, with the codes that each may reject with. */
import { type CommandTable, type Codes, writeCodes } from '../core/command.js';
import { sendCodes, sendMailCodes } from '../email/index.js';
import { findTemplateCodes } from '../templates/index.js';
import type { TeamNeeds } from './needs.js';
import {
  inviteMember,
  listInvitations,
  revokeInvitation,
  resendInvitation,
  openInvitation,
  acceptInvitation,
} from './invitations.js';
import {
  createTeam,
  getTeam,
  updateTeam,
  deleteTeam,
  restoreTeam,
  listMembers,
  describeActivity,
  changeMember,
  removeMember,
  leaveTeam,
  transferOwnership,
} from './teams.js';
import { brandOfAccountPages, brandOfPages, previewBrandMail, previewBrandPage } from './brand.js';
import { testTemplate } from './template-tests.js';

export const invitationCodes: Codes = ['INVITATION_NOT_FOUND', 'INVITATION_EXPIRED'];

/** Changing a team, by a person whose role may have changed meanwhile. */
const changeTeamCodes: Codes = ['TEAM_NOT_FOUND', 'FORBIDDEN', ...writeCodes];

export const teamCommands = {
  createTeam: {
    run: createTeam,
    codes: ['ERR_EMAIL_001', 'FORBIDDEN', 'TEAM_LIMIT_EXCEEDED', 'PLAN_LIMIT_EXCEEDED', ...writeCodes],
  },
  getTeam: { run: getTeam, codes: ['TEAM_NOT_FOUND'] },
  testTemplate: { run: testTemplate, codes: [...findTemplateCodes, 'ADDRESS_NOT_VERIFIED', ...sendCodes] },
  updateTeam: {
    run: updateTeam,
    codes: ['REVISION_MISMATCH', 'VALIDATION_ERROR', 'ERR_EMAIL_001', 'FORBIDDEN', 'TEAM_NOT_FOUND', ...writeCodes],
  },
  brandOfPages: { run: brandOfPages, codes: [] },
  brandOfAccountPages: { run: brandOfAccountPages, codes: [] },
  previewBrandPage: { run: previewBrandPage, codes: ['VALIDATION_ERROR'] },
  previewBrandMail: { run: previewBrandMail, codes: ['VALIDATION_ERROR', 'GENERATOR_BUSY'] },
  deleteTeam: { run: deleteTeam, codes: ['FIRST_TEAM', ...changeTeamCodes] },
  restoreTeam: { run: restoreTeam, codes: ['TEAM_LIMIT_EXCEEDED', 'PLAN_LIMIT_EXCEEDED', ...changeTeamCodes] },
  listMembers: { run: listMembers, codes: [] },
  describeActivity: { run: describeActivity, codes: [] },
  changeMember: { run: changeMember, codes: ['MEMBER_NOT_FOUND', 'LAST_OWNER', ...changeTeamCodes] },
  removeMember: { run: removeMember, codes: ['MEMBER_NOT_FOUND', 'LAST_OWNER', ...changeTeamCodes] },
  leaveTeam: { run: leaveTeam, codes: ['LAST_OWNER', ...changeTeamCodes] },
  transferOwnership: { run: transferOwnership, codes: ['MEMBER_NOT_FOUND', ...changeTeamCodes] },
  inviteMember: {
    run: inviteMember,
    codes: [
      'ERR_EMAIL_001',
      'ALREADY_MEMBER',
      'MEMBER_LIMIT_EXCEEDED',
      'PLAN_LIMIT_EXCEEDED',
      'INVITATION_LIMIT_EXCEEDED',
      'PUBLIC_URL_REQUIRED',
      ...changeTeamCodes,
      ...sendMailCodes,
    ],
  },
  listInvitations: { run: listInvitations, codes: [] },
  revokeInvitation: { run: revokeInvitation, codes: ['INVITATION_NOT_FOUND', ...changeTeamCodes] },
  resendInvitation: {
    run: resendInvitation,
    codes: ['INVITATION_NOT_FOUND', 'PUBLIC_URL_REQUIRED', ...changeTeamCodes, ...sendMailCodes],
  },
  openInvitation: { run: openInvitation, codes: invitationCodes },
  acceptInvitation: {
    run: acceptInvitation,
    codes: ['PLAN_LIMIT_EXCEEDED', ...invitationCodes, 'INVITATION_NOT_YOURS', 'USER_NOT_FOUND', ...changeTeamCodes],
  },
} as const satisfies CommandTable<TeamNeeds>;
