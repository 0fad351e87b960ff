import { type Channels } from '#base/channels/publishing-channel.js';
import { type CriClient, PlegReporter, type PlegReporterOptions } from '#watch';
import { type Clock } from '#base/time/clock.js';
import { type AgentParts } from '../../parts/agent-parts.js';

/** What {@link startPlegReporter} wires. */
export interface StartPlegReporterOptions {
  readonly parts: Pick<AgentParts, 'pleg' | 'cache' | 'manager' | 'cgroups'>;
  readonly client: Pick<CriClient, 'callsInFlight'>;
  readonly runtime: { readonly name: string; readonly version: string; readonly url: string };
  /** The present measurement of the event loop. */
  readonly metrics: Required<Pick<PlegReporterOptions, 'loopDelay'>>;
  readonly channels: Channels;
  readonly clock: Clock;
  /** The state of the connection to the API server; absent without a cluster. */
  readonly readCluster?: PlegReporterOptions['cluster'];
}

/** Starts to count for the report of an agent's event generator. */
export function startPlegReporter(given: StartPlegReporterOptions): PlegReporter {
  const { parts, client, runtime, metrics, channels, clock, readCluster } = given;
  const { pleg, cache, manager } = parts;
  const { name, version, url: endpoint } = runtime;
  return new PlegReporter({
    ...{ channels, clock, pleg, runtime: { name, version, endpoint }, loopDelay: metrics.loopDelay },
    cluster: readCluster,
    cgroups: () => parts.cgroups.report(),
    uids: () => cache.uids(),
    callsInFlight: () => client.callsInFlight(),
    podsByPhase: () => {
      const phases: Record<string, number> = {};
      for (const { status } of manager.list()) phases[status.phase] = (phases[status.phase] ?? 0) + 1;
      return phases;
    },
  });
}
