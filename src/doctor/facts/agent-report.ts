import { type PlegReport } from '#kube/node/pleg-report.js';

/** What a part of an answer has to be; a name that ends in `?` may be absent. */
type Shape = 'string' | 'number' | 'boolean' | readonly [Shape] | { readonly [name: string]: Shape };

const POD: Shape = { uid: 'string', namespace: 'string', name: 'string' };

/** As much of a report as the doctor reads. */
const REPORT: Shape = {
  runtime: { name: 'string', version: 'string' },
  health: { healthy: 'boolean', 'message?': 'string', 'reason?': 'string', 'error?': 'string' },
  relists: {
    ...{ count: 'number', 'listInFlightMs?': 'number' },
    history: [{ durationMs: 'number', listMs: 'number', diffMs: 'number', inspectMs: 'number' }],
  },
  stuckPods: [{ pod: POD, state: 'string', forMs: 'number', failures: 'number', 'error?': 'string' }],
  stuckPodCount: 'number',
  callsInFlight: [{ method: 'string', ageMs: 'number', 'pod?': POD, 'containerId?': 'string' }],
  callsInFlightCount: 'number',
  stream: { state: 'string', missed: 'number', announced: 'number' },
  eventLoop: { meanMs: 'number', p99Ms: 'number', maxMs: 'number' },
  'cgroups?': {
    ...{ driver: 'string', source: 'string', 'conflict?': 'string' },
    problems: [{ what: 'string', error: 'string', remedy: 'string', isNeeded: 'boolean' }],
  },
  'cluster?': { server: 'string', problems: [{ what: 'string', error: 'string' }] },
};

/** Whether an answer of an agent, which may be of another version, says all that the doctor reads. */
export function isWholeReport(answer: unknown): answer is PlegReport {
  return hasShape(answer, REPORT);
}

function hasShape(value: unknown, shape: Shape): boolean {
  if (typeof shape === 'string') return typeof value === shape;
  if (typeof value !== 'object' || value === null) return false;
  if (isList(shape)) return Array.isArray(value) && value.every((item) => hasShape(item, shape[0]));
  return Object.entries(shape).every(([name, part]) => {
    const field = (value as Readonly<Record<string, unknown>>)[name.replace(/\?$/, '')];
    return (name.endsWith('?') && field === undefined) || hasShape(field, part);
  });
}

function isList(shape: Exclude<Shape, string>): shape is readonly [Shape] {
  return Array.isArray(shape);
}
