import { type Container, type ResourceList, type ResourceRequirements } from '#kube/container/container.js';
import {
  formatBytes,
  formatQuantity,
  getQuantity,
  toMilliUnits,
  toWholeUnits,
} from '#kube/fields/quantity.js';
import { toShares } from '../runtime/config/container-resources.js';
import { type ContainerLimits } from '#watch';

/** The resources in a v1 ContainerStatus. */
export interface StatusResources {
  /** What it was promised; absent when it requests nothing. */
  readonly allocatedResources?: ResourceList;
  /** What is in force; empty when nothing was requested. */
  readonly resources: ResourceRequirements;
}

/**
 * The resources in the status of an existing container: those of the manifest, except where others are in
 * force. Pure.
 *
 * `actual`: the limits of a running container, as far as the runtime reports them.
 */
export function computeStatusResources(
  { resources = {} }: Pick<Container, 'resources'>,
  actual: ContainerLimits | undefined,
): StatusResources {
  const { requests = {}, limits = {} } = resources;
  if (Object.keys(requests).length + Object.keys(limits).length === 0) return { resources: {} };
  return {
    ...(Object.keys(requests).length === 0 ? {} : { allocatedResources: requests }),
    resources: actual === undefined ? resources : inForce(requests, limits, actual),
  };
}

function inForce(
  requests: ResourceList,
  limits: ResourceList,
  { cpuShares, cpuQuotaUs, cpuPeriodUs = 100_000n, memoryBytes }: ContainerLimits,
): ResourceRequirements {
  const cpuLimit = cpuQuotaUs === undefined ? undefined : (cpuQuotaUs * 1000n) / cpuPeriodUs;
  const cpuRequest = requests['cpu'];
  const isPromised =
    cpuShares === 0n || toShares(cpuRequest === undefined ? 0n : milliOf(cpuRequest)) === cpuShares;
  const all = {
    limits: withAmount(
      withAmount(limits, 'cpu', cpuLimit, milliOf, fromMilli),
      'memory',
      memoryBytes,
      (text) => toWholeUnits(getQuantity(text)),
      formatBytes,
    ),
    requests: isPromised ? requests : { ...requests, cpu: fromMilli((cpuShares * 1000n + 1023n) / 1024n) },
  };
  return Object.fromEntries(Object.entries(all).filter(([, list]) => Object.keys(list).length > 0));
}

/** As written in the manifest, if that amount is in force. */
function withAmount(
  list: ResourceList,
  name: string,
  actual: bigint | undefined,
  read: (text: string) => bigint,
  write: (amount: bigint) => string,
): ResourceList {
  const { [name]: written, ...others } = list;
  if (actual === undefined) return others;
  // A quota is at least a millisecond, so the smallest amounts are all the same.
  const isSame =
    written !== undefined && (read(written) === actual || (read(written) < 10n && actual <= 10n));
  return { ...others, [name]: isSame ? written : write(actual) };
}

function milliOf(text: string): bigint {
  return toMilliUnits(getQuantity(text));
}

function fromMilli(milli: bigint): string {
  return formatQuantity({ nanos: milli * 1_000_000n, format: 'DecimalSI' });
}
