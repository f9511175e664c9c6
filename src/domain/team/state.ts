/** What the events of a team, and those of the instance, add up to. */
import type { Company } from '../ports/renderer.js';
import type { InstanceEvent, TeamEvent, TeamSettings } from './events.js';

export type Team = Readonly<{ billing: 'credits' | 'plan' | 'unmetered'; settings: TeamSettings; createdAt: string }>;
export type TeamState = Team | undefined;

export const evolveTeam = (team: TeamState, event: TeamEvent): TeamState => {
  switch (event.type) {
    case 'TeamCreated':
      return { billing: event.data.billing, settings: event.data.settings, createdAt: event.data.at };
    case 'TeamSettingsChanged':
      return team && { ...team, settings: event.data.settings };
  }
};

/** The id of the first team; undefined before the first start is done. */
export type InstanceState = string | undefined;
export const evolveInstance = (state: InstanceState, event: InstanceEvent): InstanceState => {
  switch (event.type) {
    case 'InstanceInitialised':
      return event.data.teamId;
    case 'LossAccepted':
      return state;
  }
};

export const emptyCompany: Company = {
  name: '',
  legalName: '',
  email: '',
  phone: '',
  website: '',
  addressLine1: '',
  city: '',
  state: '',
  postalCode: '',
  country: '',
};
