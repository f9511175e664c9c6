/**
 * The stand-in as a process of its own: node main.js PORT FILE. It keeps its log in the file and says its URL on
 * standard output.
 */
import { openServerLog } from './log.js';
import { openStandIn } from './server.js';

const [port = '0', file] = process.argv.slice(2);
const { url } = await openStandIn({ log: openServerLog(file === undefined ? {} : { file }), port: Number(port) });
console.log(url);
