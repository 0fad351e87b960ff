/**
 * Every code that a finding can have, with what it stands for. A code is never reused for another meaning.
 *
 * docs/reference/doctor.md has each of them; a test holds the page and this table together.
 */
export const FINDING_CODES = {
  RuntimeSocketMissing:
    'There is no socket of a container runtime: not where it was named, nor where one would be found.',
  RuntimeNotRunning: 'Nobody answers at the socket of the runtime, or whoever does hangs up at once.',
  RuntimeNotCri: 'What listens at the socket is no CRI v1 runtime.',
  RuntimeForbidden: 'This user may not open the socket of the runtime, so nothing is known of it.',
  RuntimeFlapping: 'The runtime went away or came back while it was looked at: it is restarting.',
  RuntimeHung: 'The runtime accepts connections and answers no call: it is stopped or hung.',
  RuntimeStopped: 'The process of the runtime is stopped by a signal, or frozen with its cgroup.',
  RuntimeSlow: 'The runtime answers every call slowly, also those that are about no pod.',
  RuntimeNotReady: 'The runtime itself says that it is not ready.',
  NetworkNotReady:
    'The runtime says that its network (CNI) is not ready, so no pod with a network of its own starts.',
  ListHangs: 'The runtime answers other calls, but a list never comes: it is locked inside.',
  CallHangs: 'A call that is about no single pod is never answered.',
  ListTooLarge: 'The answer to a list is, or will soon be, larger than a kubelet accepts.',
  ListSlow: 'A list takes so long that every look at the pods is late.',
  CallFails: 'A call that only reads fails.',
  PodHung: 'The runtime does not answer a call about one pod; a kubelet waits for it with everything else.',
  PodsHung: 'The runtime does not answer calls about many pods.',
  PodStatusFails: 'A call about one pod fails, so nobody learns what happens to it.',
  StatusSlow: 'The runtime answers each status call slowly, whatever pod it is about.',
  PodSlow: 'The status of one pod takes far longer than that of the others.',
  TooManyContainers:
    'There are so many pods and containers that asking for all of them one by one takes too long.',
  DeadContainers: 'Many dead containers are kept, and every list carries them.',
  DeadSandboxes: 'Many sandboxes are kept that are not ready.',
  SandboxesFail: 'Pods of the kubelet do not start, because the runtime makes no sandbox for them.',
  PodsWait:
    'Pods of the kubelet do not run for reasons of their own, such as an image that cannot be pulled.',
  SandboxStorm: 'Sandboxes of a pod are made again and again.',
  CrashLoops: 'Containers of many pods are started again and again.',
  EventsLost: 'Containers changed and the runtime’s event stream did not tell of all of it.',
  EventStreamBreaks: 'The runtime’s event stream ends or fails while it is read.',
  IoPressure: 'Processes wait for disks most of the time.',
  MemoryPressure: 'Processes wait for memory.',
  CpuPressure: 'Processes wait for the CPU most of the time.',
  DiskHangs: 'A file system that the node needs does not answer.',
  MountHangs: 'The server of a mount (FUSE, NFS and the like) does not answer, or is gone.',
  DiskSlow: 'A write to the disk of the runtime takes long to arrive.',
  DiskFull: 'A file system that the node needs is full, or nearly.',
  InodesUsedUp: 'A file system that the node needs has no inodes left, or nearly.',
  MemoryLow: 'Hardly any memory is available.',
  PidsUsedUp: 'Hardly any process can be started any more.',
  FilesUsedUp: 'The runtime or the kubelet has nearly as many files open as it may have.',
  TasksUsedUp: 'The cgroup of the runtime or the kubelet has nearly as many tasks as it may have.',
  MemoryUsedUp: 'The cgroup of the runtime or the kubelet has nearly as much memory as it may have.',
  CpuThrottled: 'The cgroup of the runtime or the kubelet uses up its share of CPU time again and again.',
  TasksBlocked: 'Tasks hang in the kernel, mostly on a disk or a network file system.',
  Zombies: 'Many processes are dead and nobody collects them.',
  ShimStopped: 'The shim of a pod is stopped by a signal, or frozen with its cgroup.',
  ShimHangs: 'The shim of a pod does not answer, or hangs in the kernel.',
  OciRuntimeHangs: 'A call of the OCI runtime (runc) for a container does not end.',
  OciRuntimeSlow: 'The calls of the OCI runtime (runc) are slow, whatever pod they are for.',
  OrphanShims: 'Shims of the runtime run whose pods it does not know.',
  ShimsGone: 'Pods are listed as ready whose shims do not run.',
  ShimsAbandoned: 'Shims of a containerd run that is not there any more.',
  SandboxHangs:
    'The sandbox of a pod is not set up, or not taken down, for long: mostly its network plugin (CNI) hangs.',
  CertificateExpired: 'A certificate of the node has expired.',
  CertificateExpires: 'A certificate of the node expires soon and was not renewed.',
  KubeletUnhealthy: 'The kubelet’s own health check fails.',
  KubeletStopped: 'The process of the kubelet is stopped by a signal, or frozen with its cgroup.',
  KubeletHung: 'The kubelet takes connections and does not answer.',
  KubeletNotRunning: 'A kubelet is set up on this machine and does not run.',
  KubeletRelistStuck: 'The kubelet has not looked at the pods for long.',
  KubeletRelistSlow: 'The kubelet’s looks at the pods take long.',
  KubeletEventsDiscarded: 'The kubelet threw events away: its pods are late by as much as a minute and more.',
  KubeletCallsSlow: 'Calls that the kubelet makes to the runtime take long.',
  AgentUnhealthy: 'podloop’s own agent says that it is not healthy.',
  AgentPodStuck: 'podloop’s own agent cannot inspect a pod.',
  AgentCallHangs: 'A call of podloop’s own agent has not been answered for long.',
  AgentRelistSlow: 'Looks of podloop’s own agent at the pods take long.',
  AgentEventsMissed: 'podloop’s own agent found changes that no event of the runtime announced.',
  AgentOutOfStep: 'podloop’s own agent does not get from the API server what a node needs.',
  CgroupDriverConflict:
    'The options of podloop’s own agent say another cgroup driver than the runtime has, so no new pod starts.',
  CgroupControllersMissing:
    'Pods of podloop’s own agent go without limits or weights, for want of a controller of cgroups.',
  AgentBusy: 'podloop’s own agent is late with everything: its event loop is held up.',
} as const;

/** See {@link FINDING_CODES}. */
export type FindingCode = keyof typeof FINDING_CODES;
