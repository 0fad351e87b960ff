import { findQuantity } from '#kube/fields/quantity.js';
import { parseCpuList } from '#base/proc/cpu-list.js';
import { checkCgroupRoot } from '../runtime/config/pod-cgroup-names.js';
import { findReservationProblem } from './kubelet-config/config-rules.js';
import { type OptionsTable } from './options-table.js';

/** The options for what of the machine is not for pods, and how that is enforced. */
export interface ReserveOptions {
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** A list of processors such as `0-1`; empty for none. */
  readonly reservedSystemCpus: string;
  /** Words of {@link ENFORCEABLE}. */
  readonly enforceNodeAllocatable: readonly string[];
  /** Paths of cgroups; empty for none. */
  readonly systemReservedCgroup: string;
  readonly kubeReservedCgroup: string;
}

/** Whose limits can be enforced; `…-compressible` enforces the share of the CPU alone. */
const ENFORCEABLE = [
  'pods',
  'system-reserved',
  'kube-reserved',
  'system-reserved-compressible',
  'kube-reserved-compressible',
  'none',
] as const;

/** The rows of {@link ReserveOptions}. */
export const RESERVE_OPTIONS: OptionsTable<ReserveOptions> = {
  systemReserved: {
    type: 'amounts',
    default: {},
    flag: '--system-reserved',
    group: 'Node and resources',
    field: 'systemReserved',
    fromConfig: (config) => config.systemReserved,
    doc: 'CPU, memory, disk and processes reserved for the system, which pods cannot request, as cpu=200m,memory=500Mi',
  },
  kubeReserved: {
    type: 'amounts',
    default: {},
    flag: '--kube-reserved',
    group: 'Node and resources',
    field: 'kubeReserved',
    fromConfig: (config) => config.kubeReserved,
    doc: 'The same for agents and runtimes',
  },
  reservedSystemCpus: {
    type: 'text',
    default: '',
    flag: '--reserved-cpus',
    group: 'Node and resources',
    field: 'reservedSystemCPUs',
    fromConfig: (config) => config.reservedSystemCPUs,
    doc: 'Processors that are not for pods, as 0-1,4; their number replaces what --system-reserved and --kube-reserved say of cpu',
  },
  enforceNodeAllocatable: {
    type: 'list',
    default: ['pods'],
    flag: '--enforce-node-allocatable',
    group: 'Node and resources',
    field: 'enforceNodeAllocatable',
    fromConfig: (config) => config.enforceNodeAllocatable,
    doc: 'Which cgroups get limits so that what is reserved stays free: pods, system-reserved, kube-reserved, or none',
  },
  systemReservedCgroup: {
    type: 'text',
    default: '',
    flag: '--system-reserved-cgroup',
    group: 'Node and resources',
    field: 'systemReservedCgroup',
    fromConfig: (config) => config.systemReservedCgroup,
    doc: 'Cgroup of the system, such as /system.slice, which system-reserved of --enforce-node-allocatable limits',
  },
  kubeReservedCgroup: {
    type: 'text',
    default: '',
    flag: '--kube-reserved-cgroup',
    group: 'Node and resources',
    field: 'kubeReservedCgroup',
    fromConfig: (config) => config.kubeReservedCgroup,
    doc: 'Cgroup of agents and runtimes, which kube-reserved of --enforce-node-allocatable limits',
  },
};

/** What {@link findReserveProblem} checks. */
type Checked = ReserveOptions & { readonly cgroupsPerQos: boolean };

/** The first problem of these options, by the kubelet's own rules. Pure. */
export function findReserveProblem(options: Checked): string | undefined {
  const problems = [
    ...findWrongAmounts('--system-reserved', options.systemReserved),
    ...findWrongAmounts('--kube-reserved', options.kubeReserved),
    findWrongEnforcement(options),
    findMissingGroup('system-reserved', '--system-reserved-cgroup', options.systemReservedCgroup, options),
    findMissingGroup('kube-reserved', '--kube-reserved-cgroup', options.kubeReservedCgroup, options),
    findWrongCpus(options),
  ];
  return problems.find((problem) => problem !== undefined);
}

function findWrongAmounts(flag: string, amounts: Readonly<Record<string, string>>): (string | undefined)[] {
  return Object.entries(amounts).map(([name, amount]) => {
    const problem =
      findQuantity(amount) === undefined
        ? 'is no amount, such as 200m or 500Mi'
        : findReservationProblem(name, amount);
    return problem && `${flag}: ${name}: ${JSON.stringify(amount)} ${problem}`;
  });
}

function findWrongEnforcement({ enforceNodeAllocatable: words, cgroupsPerQos }: Checked): string | undefined {
  const flag = '--enforce-node-allocatable';
  const wrong = words.find((word) => !ENFORCEABLE.includes(word as (typeof ENFORCEABLE)[number]));
  if (wrong !== undefined) return `${flag}: ${JSON.stringify(wrong)} is not one of ${ENFORCEABLE.join(', ')}`;
  if (words.includes('none') && words.length > 1) return `${flag}: none does not go with other words`;
  for (const whose of ['system-reserved', 'kube-reserved']) {
    if (words.includes(whose) && words.includes(`${whose}-compressible`))
      return `${flag}: ${whose} and ${whose}-compressible do not go together`;
  }
  // Pods have no group of their own then; the default asks for nothing that nobody asked for.
  const isDefault = words.length === 1 && words[0] === 'pods';
  return !cgroupsPerQos && words.length > 0 && !isDefault && !words.includes('none')
    ? `${flag}: does not go with --cgroups-per-qos=false`
    : undefined;
}

function findMissingGroup(
  whose: string,
  flag: string,
  group: string,
  { enforceNodeAllocatable: words }: Checked,
): string | undefined {
  const word = words.find((each) => each === whose || each === `${whose}-compressible`);
  if (group === '')
    return word && `--enforce-node-allocatable: ${word} needs ${flag}, too: the cgroup to limit`;
  const rule = checkCgroupRoot(group);
  return rule && `${flag}: ${JSON.stringify(group)} ${rule}`;
}

function findWrongCpus({ reservedSystemCpus: cpus, ...groups }: Checked): string | undefined {
  if (cpus === '') return undefined;
  if (parseCpuList(cpus) === undefined)
    return `--reserved-cpus: ${JSON.stringify(cpus)} is no list of processors, such as 0-1,4`;
  return groups.systemReservedCgroup === '' && groups.kubeReservedCgroup === ''
    ? undefined
    : '--reserved-cpus: does not go with --system-reserved-cgroup or --kube-reserved-cgroup';
}
