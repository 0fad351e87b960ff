import { type CriClient } from '../cri/index.js';
import { type PodCache } from '../pleg/pod-cache.js';
import { CriPodUsage } from '../runtime/cri-pod-usage.js';
import { renderCadvisorPage } from '../stats/cadvisor-page.js';
import { readSubjects } from '../stats/cadvisor-subjects.js';
import { ContainerGroups, readableCgroups } from '../stats/container-groups.js';
import { readMachineFacts } from '../stats/machine-facts.js';
import { readNodeUsage } from '../stats/node-usage.js';
import { renderResourcePage } from '../stats/resource-page.js';
import { UsageLooks } from '../stats/usage-looks.js';
import { abortable } from '../util/abortable.js';
import { KERNEL_CGROUPS } from '../util/cgroups/cgroup-io.js';
import { type Clock } from '../util/clock.js';
import { type Logger } from '../util/logger.js';
import { readOwnMountinfo } from '../util/mountinfo.js';

/** What {@link buildUsagePages} wires. */
export interface UsagePagesOptions {
  readonly client: CriClient;
  readonly cache: Pick<PodCache, 'get'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The pages about what the node and its pods use. */
export interface UsagePages {
  resource(signal: AbortSignal): Promise<string>;
  cadvisor(signal: AbortSignal): Promise<string>;
}

/** Prometheus waits for ten seconds unless told: a page without pods must be there before. */
const CALL_TIMEOUT_MS = 8_000;

/** Wires the pages about usage: they share what is asked of the runtime. */
export function buildUsagePages({ client, cache, clock, logger }: UsagePagesOptions): UsagePages {
  const usage = new CriPodUsage({ client, timeoutMs: CALL_TIMEOUT_MS });
  const looks = new UsageLooks({
    ...{ clock, logger, readNode: readNodeUsage },
    listPods: () => usage.listPods(),
    statusOf: (uid) => cache.get(uid).status,
  });
  const machine = readMachineFacts();
  const cgroups = readOwnMountinfo()
    .catch(() => '')
    .then((mountinfo) => {
      const layout = readableCgroups(mountinfo, KERNEL_CGROUPS);
      return { layout, groups: new ContainerGroups({ layout, clock }) };
    });
  return {
    resource: async (signal) => renderResourcePage(await looks.look(signal)),
    cadvisor: async (signal) => {
      // Asked beside one another, so that a hang costs its deadline once.
      const [look, runtimeMetrics] = await Promise.all([
        looks.look(signal),
        abortable(usage.listMetrics(signal), signal).catch(() => undefined),
      ]);
      signal.throwIfAborted();
      const subjects = await readSubjects(look, { ...(await cgroups), clock }, signal);
      return await renderCadvisorPage({ look, subjects, runtimeMetrics, machine: await machine });
    },
  };
}
