/** The private keys of one sender domain: made with it and with each rotation, destroyed when it is gone. */
import type { Decider } from '../core/decider.js';
import { domainNotFound } from './decider.js';
import type { DomainKeysEvent, PrivateKeys } from './events.js';

export type DomainKeysState = Readonly<{ isDestroyed: boolean; privateKeys: PrivateKeys }>;

export type DomainKeysCommand =
  Readonly<{ type: 'KeepKeys'; at: string; privateKeys: PrivateKeys }> | Readonly<{ type: 'DestroyKeys'; at: string }>;

export const domainKeysDecider: Decider<DomainKeysCommand, DomainKeysEvent, DomainKeysState> = {
  decide: (command, { isDestroyed }) => {
    const { at } = command;
    switch (command.type) {
      case 'KeepKeys': {
        if (isDestroyed) throw domainNotFound();
        const { privateKeys } = command;
        return [{ type: 'DomainKeysMade', data: { at, selectors: privateKeys.map(({ selector }) => selector) }, sealed: { privateKeys } }];
      }
      case 'DestroyKeys':
        return isDestroyed ? [] : [{ type: 'DomainKeysDestroyed', data: { at } }];
    }
  },
  evolve: (state, event) => {
    switch (event.type) {
      case 'DomainKeysMade':
        return { ...state, privateKeys: [...state.privateKeys, ...(event.sealed?.privateKeys ?? [])] };
      case 'DomainKeysDestroyed':
        return { isDestroyed: true, privateKeys: [] };
    }
  },
  initialState: { isDestroyed: false, privateKeys: [] },
};
