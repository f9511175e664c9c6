/** The team that the pages are for: that of the address, else the last chosen one, else the first. */
import { createContext, useContext } from 'react';
import type { Team } from './queries';
import { keptName } from './values';

const CHOSEN = keptName('team');

/** Undefined: the person is in no team, or not in the one of the address. */
export const chosenTeam = (teams: readonly Team[], asked: string | undefined): Team | undefined => {
  if (asked !== undefined) return teams.find(({ id }) => id === asked);
  const last = localStorage.getItem(CHOSEN);
  return teams.find(({ id }) => id === last) ?? teams[0];
};

export const rememberTeam = (id: string): void => localStorage.setItem(CHOSEN, id);

/** In: a path of the dashboard. Out: with the team that the address of the page names, if it names one. */
export const withTeam = (href: string): string => {
  const team = new URLSearchParams(window.location.search).get('team');
  if (team === null || /[?&]team=/.test(href)) return href;
  return `${href}${href.includes('?') ? '&' : '?'}team=${encodeURIComponent(team)}`;
};

const TeamContext = createContext<Team | undefined>(undefined);

export const TeamProvider = TeamContext.Provider;

/** The team of the page. Used inside of the shell alone, which shows no page without a team. */
export const useTeam = (): Team => {
  const team = useContext(TeamContext);
  if (team === undefined) throw new Error('the page is not inside of the shell');
  return team;
};
