/**
 * The process that watches a node beside any kubelet, for the command line.
 *
 * @module
 */
export { NodeObserver } from './node-observer.js';
export { type ObserveOptions } from './observe-options.js';
export { type Incident, type IncidentFinding, IncidentStore } from '#history';
