/** Lets the event loop serve others between two parts of heavy work. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
