import { PodCache } from '#watch';
import { DesiredPods, type Rejection } from '../../../src/node/pods/loop/desired-pods.js';
import { toObservedPod } from '../../../src/node/pods/loop/housekeeping-owner.js';
import { type PodHandlersOptions } from '../../../src/node/pods/loop/pod-handlers-options.js';
import { PodHandlers } from '../../../src/node/pods/loop/pod-handlers.js';
import { type PodWorkRequest } from '../../../src/node/pods/workers/work-request.js';

/** What a node of a test has for its pods. */
export const ROOM = { pods: 10, cpuMilli: 1_000n, memoryBytes: 1_000n, others: new Map<string, bigint>() };

/** Handlers with workers that only write down; `ended` are the uids of pods that are to end, or have. */
export function setUpHandlers(options: Partial<PodHandlersOptions> = {}) {
  const requests: PodWorkRequest[] = [];
  const ended = new Set<string>();
  const tornDown = new Set<string>();
  const rejected: [string, Rejection][] = [];
  const state = { allSeen: true, housekeepings: 0 };
  const desired = new DesiredPods();
  const cache = new PodCache();
  const known = (): Set<string> =>
    new Set(
      requests.map((request) => ('pod' in request ? request.pod.metadata.uid : request.runningPod.uid)),
    );
  const handlers = new PodHandlers({
    desired,
    findObserved: (uid) => toObservedPod(cache.get(uid).status),
    workers: {
      updatePod: (request) => requests.push(request),
      isKnown: (uid) => known().has(uid),
      isTerminationRequested: (uid) => ended.has(uid),
      isKnownTerminated: (uid) => ended.has(uid),
    },
    housekeeping: { run: () => state.housekeepings++, isTornDown: (uid) => tornDown.has(uid) },
    seenAllSources: () => state.allSeen,
    onRejected: (pod, rejection) => rejected.push([pod.metadata.uid, rejection]),
    ...options,
  });
  const asked = (): string[] =>
    requests.map(
      (request) => `${request.type} ${'pod' in request ? request.pod.metadata.uid : 'runtime pod'}`,
    );
  return { handlers, desired, cache, requests, ended, tornDown, rejected, state, asked };
}
