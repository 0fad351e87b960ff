import { type Channels } from '#base/channels/publishing-channel.js';
import { join } from 'node:path';
import { type CriClient, CriRuntime, isFirstRelistPending, ownedBy, Pleg, PodCache } from '#watch';
import { AdoptedPods } from '../pods/adoption/adopted-pods.js';
import { isOwnPod } from '../pods/loop/housekeeping-owner.js';
import { RuntimeState } from '../pods/loop/runtime-state.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { readOwnMountinfo } from '#base/proc/mountinfo.js';
import { type AgentOptions } from '../options/agent-options.js';
import { CgroupDriverRecord } from '../resources/cgroups/cgroup-driver-record.js';
import { buildPodCgroups } from '../resources/cgroups/build-pod-cgroups.js';
import { type NodeIdentity } from '../resources/facts/node-identity.js';
import { SecurityFacts } from '../resources/facts/security-facts.js';

const FIRST_STATUS_MS = 5_000;

/** What {@link buildObservingParts} needs. */
export interface ObservingPartsOptions {
  readonly options: AgentOptions;
  readonly identity: NodeIdentity;
  readonly client: CriClient;
  /** The runtime's name for itself. */
  readonly runtimeName: string;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The parts of an agent that observe: the runtime, its pods, and what node and runtime support. */
export type ObservingParts = Awaited<ReturnType<typeof buildObservingParts>>;

/**
 * Builds the parts that observe. Reads the runtime's status once; if the runtime is just away, that follows
 * later.
 *
 * Rejects with CGROUP_DRIVER_CONFLICT when the options name another cgroup driver than the runtime has, and with OPTION_INVALID when a
 * reserved cgroup that is to be limited is missing.
 */
export async function buildObservingParts(given: ObservingPartsOptions) {
  const { options, identity, client, runtimeName, channels, clock, logger } = given;
  const common = { clock, logger };
  const runtime = new CriRuntime({ client, ...common });
  const cache = new PodCache();
  const pleg = new Pleg({ runtime, cache, mode: options.mode, channels, ...common });
  const adopted = await AdoptedPods.open(join(options.rootDir, 'adopted-pods.json'));
  const isOurs = ownedBy(identity.instanceId, (uid) => adopted.has(uid));
  /**
   * Pods that the runtime shows and that are owned completely; the owner stays known while a status is
   * unavailable.
   */
  const ownUids = (): string[] =>
    [...cache.uids()].filter((uid) => isOwnPod(cache.getLastKnown(uid), isOurs));
  const mountinfo = await readOwnMountinfo().catch(() => '');
  const { cgroupDriver, cgroups, allocatable, protection } = buildPodCgroups({
    ...{ ...common, options, client, runtimeName, instanceId: identity.instanceId },
    record: await CgroupDriverRecord.open({ file: join(options.rootDir, 'cgroup-driver.json'), logger }),
    ...{ mountinfo, ownUids },
  });
  await allocatable.enforceReserved(new AbortController().signal);
  const security = await SecurityFacts.read();
  // Before pods are admitted by it. If the runtime is just away, its first status will bring it.
  const first = await client.status({}, { timeoutMs: FIRST_STATUS_MS }).catch(() => undefined);
  if (first !== undefined) {
    security.take(first);
    await cgroupDriver.refresh(new AbortController().signal);
    if (options.cgroupsPerQos) cgroupDriver.throwIfInConflict();
  }
  const runtimeState = new RuntimeState({
    ...common,
    getConditions: cgroupDriver.after(async (signal) => {
      const response = await client.status({}, { signal });
      security.take(response);
      return response.status?.conditions ?? [];
    }),
    healthChecks: [
      {
        name: 'PLEG',
        findProblem: () => pleg.health().message,
        isPending: () => isFirstRelistPending(pleg.health()),
      },
    ],
  });
  return {
    runtime,
    cache,
    pleg,
    adopted,
    isOurs,
    ownUids,
    mountinfo,
    cgroups,
    allocatable,
    protection,
    security,
    runtimeState,
  };
}
