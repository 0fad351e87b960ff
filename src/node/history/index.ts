/**
 * What an agent and an observer have in common when they write and serve the history of a node.
 *
 * @module
 */
export { RuntimeRecords } from './runtime-records.js';
export { serveHistory } from './serve-history.js';
