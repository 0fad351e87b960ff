/**
 * A socket through which a runtime can be read and not changed.
 *
 * @module
 */
export { ReadingProxy, type ReadingProxyOptions } from './reading-proxy.js';
