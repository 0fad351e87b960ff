import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentOptions } from '../options/agent-options.js';
import { recordProbeFailures } from '../telemetry/reports/probe-events.js';
import { logFailedCalls } from '../telemetry/reports/log-failed-calls.js';
import { logHealthChanges } from '../telemetry/reports/log-health-changes.js';
import { notifyProbes } from '../telemetry/reports/notify-probes.js';
import { PodRangeReporter } from '../runtime/pod-range-reporter.js';
import { runIptables, UtilityChains } from '../resources/network/utility-chains.js';
import { OomWatcher } from '../resources/oom/oom-watcher.js';
import { type AgentParts } from './agent-parts.js';
import { followPodsOfWorkloads } from './build-workloads.js';
import { type Loop, loopsPart, type Part } from './part-list.js';
import { type StartedParts } from './start-parts.js';

/** What {@link runningParts} needs. */
export interface RunningPartsOptions {
  readonly options: Pick<AgentOptions, 'runtimeRequestTimeoutMs' | 'podCidr' | 'makeIptablesUtilChains'>;
  readonly started: StartedParts;
  /** Aborts when the agent is asked to end: from then on no manifest is read. */
  readonly asked: AbortSignal;
  /** A loop has failed, so that the agent cannot go on. */
  readonly onFailure: (error: unknown) => void;
  /** podloop's. */
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The parts that an agent has while it runs, in the order of its life.
 *
 * The end goes the other way: first nothing new is decided, then what is under way settles, and only then
 * does the agent cease to observe.
 */
export function runningParts(given: RunningPartsOptions): readonly Part<unknown>[] {
  const { started, onFailure } = given;
  const { pleg, closing, node } = started.parts;
  return [
    { name: 'first facts of the node', start: async (signal) => node.refresh(signal) },
    // Its failure is reported at the end: pods run without a history, too.
    loopsPart('history', [['history', async (signal) => started.history.run(signal)]], () => undefined),
    reportsPart(given),
    loopsPart('observers', observersOf(given), onFailure),
    { name: 'subscriptions of events', start: nothing, release: () => pleg.closeSubscriptions() },
    ...settlingParts(started.parts),
    servicesPart(started.parts),
    loopsPart('deciders', decidersOf(given), onFailure),
    // At the same time as the deciders.
    { name: 'work in the background', start: nothing, release: () => closing.abort() },
  ];
}

/** What is logged and recorded of failures. */
function reportsPart({ started, version, logger }: RunningPartsOptions): Part<readonly (() => void)[]> {
  const { channels, identity, connected, api, parts, link } = started;
  const { events, desired, hide } = parts;
  return {
    name: 'reports of failures',
    start: () => {
      const { url: runtime } = connected;
      parts.allocatable.onEvent((event) => link?.recordEvent(event));
      logger.info('Started node agent', { version, node: identity.name, runtime, socket: api.socket });
      return [
        recordProbeFailures(channels, events, (uid) => desired.has(uid)),
        logFailedCalls({ channels, logger, hide, findPod: (uid) => desired.find(uid) }),
      ];
    },
    release: (leave) => leave.forEach((each) => each()),
  };
}

/** What sees and shows the node; it goes on until everything has settled. */
function observersOf(given: RunningPartsOptions): Loop[] {
  const { options, started, clock, logger } = given;
  const { connected, parts, api, link } = started;
  const { keeper, client } = connected;
  const { pleg, runtimeState, node, probes } = parts;
  const { runtimeRequestTimeoutMs: requestTimeoutMs } = options;
  const health = { pleg, runtimeState, client, requestTimeoutMs, clock, logger };
  return [
    ['runtime keeper', async (signal) => keeper?.run(signal)],
    ['event generator', async (signal) => pleg.run(signal)],
    ['runtime state', async (signal) => runtimeState.run(signal)],
    ['health report', async (signal) => logHealthChanges(health, signal)],
    ['API', async (signal) => api.run(signal)],
    ['node facts', async (signal) => node.run(signal)],
    ['kills for want of memory', async (signal) => buildOomWatcher(given).run(signal)],
    ['cluster', async (signal) => link?.run(signal)],
    ['chains of iptables', async (signal) => makeUtilityChains(given, signal)],
    ['range of pods', async (signal) => passPodRange(given, signal)],
    ['probe targets', async (signal) => notifyProbes({ pleg, probes }, signal)],
  ];
}

/** Without a cluster; with one, that assigns the range. */
async function passPodRange(
  { options, started, clock, logger }: RunningPartsOptions,
  signal: AbortSignal,
): Promise<void> {
  if (options.podCidr === '') return;
  if (started.link !== undefined) {
    logger.warn('podCIDR has no effect in a cluster, which assigns one', { podCIDR: options.podCidr });
    return;
  }
  const ranges = new PodRangeReporter({ client: started.connected.client, clock, logger });
  ranges.note(options.podCidr.split(','));
  await ranges.run(signal);
}

async function makeUtilityChains(
  { options, clock, logger }: RunningPartsOptions,
  signal: AbortSignal,
): Promise<void> {
  if (!options.makeIptablesUtilChains) return;
  await new UtilityChains({ run: runIptables, clock, logger }).run(signal);
}

function buildOomWatcher({ started, clock, logger }: RunningPartsOptions): OomWatcher {
  const { parts, link, identity } = started;
  const { cache, ownUids, events } = parts;
  return new OomWatcher({
    ...{ events, clock, logger },
    pods: () => [...ownUids()].map((uid) => cache.getLastKnown(uid)),
    onSystemOom: (event) => {
      if (link === undefined) logger.warn('Event of the node', { node: identity.name, ...event });
      else link.recordEvent(event);
    },
  });
}

/** Before pods start, so that they find their name server; until they have ended, or are left. */
function servicesPart({ services }: AgentParts): Part<void> {
  return {
    name: 'Services',
    start: async (signal) => services.prepare(signal),
    stop: async () => services.close(),
  };
}

/** What has nothing to start, and settles when nothing new is decided. */
function settlingParts(parts: AgentParts): Part<void>[] {
  const { cgroups, pullRecords, pullProgress, changes, memory, probes, workers, housekeeping } = parts;
  const settling = (name: string, settle: (limitMs: number) => Promise<unknown>): Part<void> => ({
    ...{ name, start: nothing, stop: async (_, limitMs) => settle(limitMs) },
  });
  return [
    settling('cgroups of pods', async () => cgroups.close()),
    // Another agent may claim the root folder soon, and two writers would corrupt a file.
    settling('records of pulls', async () => pullRecords.settled()),
    settling('progress of pulls', async () => pullProgress.close()),
    settling('changes of the runtime', async () => changes.settled()),
    settling('memory of probes', async () => memory.flush()),
    settling('probes', async () => probes.close()),
    settling('pod workers', async (limitMs) => workers.close(limitMs)),
    settling('housekeeping', async () => housekeeping.close()),
  ];
}

/** What decides and cleans up. */
function decidersOf({ started, asked }: RunningPartsOptions): Loop[] {
  const { parts, link } = started;
  const { sources, workloads, loop, collectors, volumes, claimUsages } = parts;
  const { volumeLimits, storageLimits, shutdown } = parts;
  return [
    ['pod sources', async (signal) => sources.run(AbortSignal.any([asked, signal]))],
    ['workloads', async (signal) => workloads.run(AbortSignal.any([asked, signal]))],
    ['changes of pods', async (signal) => followPodsOfWorkloads(parts, signal)],
    ['Services', async (signal) => parts.services.run(signal)],
    ['sync loop', async (signal) => loop.run(signal)],
    ['container collector', async (signal) => collectors.containers.run(signal)],
    ['volumes', async (signal) => volumes.run(signal)],
    ['usage of claims', async (signal) => claimUsages.run(signal)],
    ['limits of volumes', async (signal) => volumeLimits.run(signal)],
    ['limits of storage', async (signal) => storageLimits.run(signal)],
    ['evictions', async (signal) => link?.runEvictions(signal)],
    ['shutdown of the machine', async (signal) => shutdown.run(signal)],
    ['log rotation', async (signal) => collectors.logs.run(signal)],
    ['image collector', async (signal) => collectors.images.run(signal)],
  ];
}

function nothing(): void {
  // There is nothing to start.
}
