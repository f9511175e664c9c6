/** The clock of the machine, for commands that open no stores. */
export { systemClock as machineClock } from '../adapters/clock/system.js';
