/**
 * The process that watches a node beside any kubelet, for the command line.
 *
 * @module
 */
export { NodeObserver } from './node-observer.js';
export { type ObserveOptions } from './observe-options.js';
export { cutOff, type Incident, type IncidentFinding, IncidentStore, type StoredIncidents } from '#history';
