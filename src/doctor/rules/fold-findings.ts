import { formatPod } from '#kube/pod/pod-ref.js';
import { type FindingCode } from '../finding-codes.js';
import { type Finding, sortFindings } from '../finding.js';

/** What follows from a cause on the whole node, or for the same pod alone. */
interface Consequence {
  readonly causes: readonly FindingCode[];
  /** Which of these findings lead to it (default: all). */
  readonly isCause?: (finding: Finding) => boolean;
  /** Which findings follow from it (default: all with these codes). */
  readonly isEffect?: (finding: Finding) => boolean;
  readonly ofNode?: readonly FindingCode[];
  readonly ofPod?: readonly FindingCode[];
}

const LATE_KUBELET: readonly FindingCode[] = [
  ...(['KubeletRelistStuck', 'KubeletRelistSlow', 'KubeletUnhealthy', 'KubeletCallsSlow'] as const),
];
const OF_RUNTIME: readonly FindingCode[] = [
  ...([
    'RuntimeHung',
    'RuntimeSlow',
    'CallHangs',
    'CallFails',
    'ListSlow',
    'StatusSlow',
    'RuntimeFlapping',
  ] as const),
  ...(['RuntimeNotCri', 'RuntimeNotRunning', 'EventStreamBreaks', 'EventsLost'] as const),
];
const LATE_NODE: readonly FindingCode[] = [
  ...LATE_KUBELET,
  ...(['ListHangs', 'PodsHung', 'AgentUnhealthy', 'AgentRelistSlow', 'AgentCallHangs'] as const),
];
const STUCK_POD: readonly FindingCode[] = [
  'PodHung',
  'PodSlow',
  'PodStatusFails',
  'AgentPodStuck',
  'SandboxHangs',
  'SandboxStorm',
  'SandboxesFail',
];

/** In this order: the first cause that explains a finding gets it. */
const CONSEQUENCES: readonly Consequence[] = [
  {
    causes: ['DiskErrors'],
    ofNode: ['DiskReadOnly', 'DiskHangs', 'DiskSlow', 'IoPressure', 'KernelTasksHung', 'TasksBlocked'],
  },
  {
    causes: ['CpuPressure', 'IoPressure', 'MemoryPressure'],
    ofNode: ['OciRuntimeSlow', 'KubeletRelistSlow', 'KubeletCallsSlow'],
  },
  { causes: ['IoPressure'], ofNode: ['DiskSlow'] },
  {
    causes: ['OutOfMemory'],
    isCause: ({ process }) => /^(containerd|crio|dockerd|cri-dockerd)$/.test(process?.command ?? ''),
    ofNode: [
      ...LATE_NODE,
      ...OF_RUNTIME,
      'RuntimeSocketMissing',
      'UnitFails',
      'MemoryUsedUp',
      'ShimsAbandoned',
      'ShimHangs',
      'SandboxesFail',
    ],
  },
  {
    causes: ['OutOfMemory'],
    isCause: ({ process }) => process?.command === 'kubelet',
    ofNode: [...LATE_KUBELET, 'KubeletNotRunning', 'UnitFails', 'MemoryUsedUp'],
  },
  {
    // One that is stopped is why systemctl has no answer.
    causes: ['SystemdHangs'],
    isCause: ({ process }) => process !== undefined,
    ofNode: ['SystemdHangs'],
  },
  {
    causes: ['SystemdHangs'],
    ofNode: [...LATE_NODE, ...STUCK_POD, 'OciRuntimeHangs', 'OciRuntimeSlow', 'ShimHangs'],
  },
  {
    causes: ['UnitFails'],
    isCause: ({ unit }) => unit === 'kubelet.service',
    ofNode: [...LATE_KUBELET, 'KubeletNotRunning'],
  },
  {
    causes: ['UnitFails'],
    isCause: ({ unit }) => unit !== undefined && !/^(kubelet|podloop|podloop-observe)\.service$/.test(unit),
    ofNode: [
      ...LATE_NODE,
      ...OF_RUNTIME,
      'RuntimeSocketMissing',
      'ShimsAbandoned',
      'ShimHangs',
      'SandboxesFail',
    ],
  },
  {
    causes: ['MountHangs'],
    ofNode: ['DiskHangs', 'KernelTasksHung', 'KernelTrouble'],
    ofPod: [...STUCK_POD, 'TasksBlocked', 'ShimStopped', 'ShimHangs', 'OciRuntimeHangs'],
  },
  {
    causes: ['RuntimeStopped'],
    ofNode: [...LATE_NODE, ...OF_RUNTIME, ...STUCK_POD, 'ShimStopped', 'ShimHangs', 'OciRuntimeHangs'],
  },
  { causes: ['KubeletStopped', 'KubeletHung'], ofNode: ['KubeletHung', ...LATE_KUBELET] },
  {
    // A runtime that is starting waits for each shim before it listens.
    causes: ['ShimStopped', 'ShimHangs'],
    isEffect: ({ process }) => process !== undefined,
    ofNode: ['RuntimeNotRunning'],
  },
  {
    causes: ['FilesUsedUp'],
    isCause: ({ pod }) => pod !== undefined,
    ofPod: [...STUCK_POD, 'ShimHangs', 'OciRuntimeHangs', 'CrashLoops', 'PodsWait'],
  },
  {
    causes: ['FilesUsedUp', 'TasksUsedUp', 'MemoryUsedUp', 'CpuThrottled'],
    isCause: ({ operation }) => operation !== 'shim',
    ofNode: [...LATE_NODE, ...OF_RUNTIME, ...STUCK_POD],
  },
  {
    causes: ['RuntimeNotRunning', 'RuntimeSocketMissing', 'RuntimeFlapping'],
    ofNode: [...LATE_KUBELET, ...OF_RUNTIME, 'ShimsAbandoned', 'ShimHangs', 'SandboxesFail'],
  },
  { causes: ['TasksBlocked', 'DiskHangs', 'KernelLockup'], ofNode: ['KernelTasksHung'] },
  {
    causes: ['DiskReadOnly'],
    // One pod’s volume is no reason for others.
    isCause: ({ pods }) => pods === undefined,
    ofNode: [...STUCK_POD, 'CallFails'],
  },
  { causes: ['DiskReadOnly'], ofPod: [...STUCK_POD, 'TasksBlocked', 'CrashLoops', 'PodsWait'] },
  {
    causes: ['DiskFull', 'InodesUsedUp'],
    isCause: ({ severity }) => severity === 'critical',
    ofNode: ['SandboxesFail', 'SandboxStorm', 'CallFails'],
  },
  { causes: ['NetworkNotReady'], ofPod: ['PodsWait', 'SandboxesFail', 'SandboxStorm'] },
  { causes: ['OciRuntimeSlow'], ofNode: ['SandboxesFail'] },
  { causes: ['SandboxHangs', 'SandboxesFail'], ofPod: ['SandboxStorm', 'SandboxesFail'] },
  { causes: ['ShimStopped', 'ShimHangs', 'OciRuntimeHangs'], ofNode: LATE_NODE, ofPod: STUCK_POD },
];

/** Puts what follows from a cause below it, so that one cause is one finding. Worst first. Pure. */
export function foldFindings(findings: readonly Finding[]): Finding[] {
  const causeOf = new Map<Finding, Finding>();
  const rootOf = (finding: Finding): Finding => {
    const cause = causeOf.get(finding);
    return cause === undefined ? finding : rootOf(cause);
  };
  for (const consequence of CONSEQUENCES) {
    const { causes, isCause = () => true, isEffect = () => true, ofNode = [], ofPod = [] } = consequence;
    for (const finding of findings) {
      if (causeOf.has(finding) || !isEffect(finding)) continue;
      const cause = findings.find(
        (other) =>
          causes.includes(other.code) &&
          isCause(other) &&
          rootOf(other) !== finding &&
          (ofNode.includes(finding.code) || (ofPod.includes(finding.code) && isSamePod(other, finding))),
      );
      if (cause !== undefined) causeOf.set(finding, cause);
    }
  }
  const folded = findings
    .filter((finding) => !causeOf.has(finding))
    .map((finding) => {
      const follows = findings.filter((each) => each !== finding && rootOf(each) === finding);
      if (follows.length === 0) return finding;
      // A cause is as bad as what it leads to.
      const [worst] = sortFindings([finding, ...follows]);
      return { ...finding, severity: worst!.severity, follows };
    });
  return sortFindings(folded);
}

function isSamePod(cause: Finding, finding: Finding): boolean {
  const names = podsOf(cause);
  const others = podsOf(finding);
  return others.length > 0 && others.every((name) => names.includes(name));
}

function podsOf({ pod, pods = pod === undefined ? [] : [pod] }: Finding): string[] {
  return pods.map(formatPod);
}
