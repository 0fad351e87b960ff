import { type PlegReport, type ReportedInspection, type ReportedRelist } from '#kube/node/pleg-report.js';

/** A healthy node of a few pods, or what a test makes of it. */
export function aPlegReport(changes: Partial<PlegReport> = {}): PlegReport {
  return {
    ...{ atMs: Date.UTC(2026, 0, 2, 3, 4, 5), forMs: 60_000, mode: 'generic', periodMs: 1_000 },
    runtime: { name: 'containerd', version: '1.7.27', endpoint: 'unix:///run/containerd/containerd.sock' },
    health: { healthy: true, thresholdMs: 180_000, lastSeenAtMs: 0, lastSeenAgoMs: 400 },
    relists: { count: 2, ofOnePod: 0, history: [aRelist(), aRelist({ durationMs: 24, intervalMs: 1_024 })] },
    ...{ stuckPods: [], stuckPodCount: 0, callsInFlight: [], callsInFlightCount: 0, operations: [] },
    slowestPods: [anInspection('web', { lastMs: 30 }), anInspection('job', { lastMs: 3, failed: 2 })],
    inspections: { count: 2, failed: 0, displaced: 0, inFlight: 0, queued: 0, due: 0 },
    stream: {
      ...{ state: 'off', connects: 0, failures: 0 },
      ...{ received: 0, announced: 0, missed: 0, contradicted: 0 },
    },
    queues: { requests: { queued: 0, coalesced: 0, folded: 0 }, subscriptions: [] },
    pods: { count: 2, running: 2, containersByState: { created: 0, running: 3, exited: 1, unknown: 0 } },
    events: { ContainerStarted: 4 },
    eventLoop: { meanMs: 0, p99Ms: 1, maxMs: 2 },
    ...changes,
  };
}

/** A relist of 12 ms. */
export function aRelist(changes: Partial<ReportedRelist> = {}): ReportedRelist {
  return {
    ...{ startedAtMs: 0, trigger: 'relist', durationMs: 12, listMs: 10, diffMs: 1, inspectMs: 1 },
    ...{ pods: 2, due: 0 },
    ...changes,
  };
}

/** What the inspections of the pod default/NAME took; its uid is its name. */
export function anInspection(name: string, changes: Partial<ReportedInspection> = {}): ReportedInspection {
  return { pod: { uid: name, namespace: 'default', name }, longestMs: 40, count: 1, failed: 0, ...changes };
}
