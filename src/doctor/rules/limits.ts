/**
 * From where on something is worth a finding, in one place.
 *
 * Where Kubernetes has a number of its own it is that one: the PLEG's period (1 s) and threshold (3 min), the hard
 * eviction thresholds, the message limit of a kubelet's CRI client. The others leave a healthy but busy node alone.
 */
export const LIMITS = {
  /** Of calls that take microseconds of work: lists of a few hundred containers take 2 to 10 ms, a status 1 to 5 ms. */
  versionSlowMs: 250,
  versionVerySlowMs: 2_000,
  statusSlowMs: 250,
  statusVerySlowMs: 2_000,
  listSlowMs: 500,
  listVerySlowMs: 10_000,
  /** A pod whose calls take this long, and this many times what the median call takes. */
  podSlowMs: 1_000,
  podSlowFactor: 10,
  /** All status calls in series: what a relist of a kubelet takes in which every pod has changed. */
  seriesLongMs: 30_000,
  /** The threshold of the PLEG. */
  plegThresholdMs: 180_000,
  plegLateMs: 60_000,
  /** The period and the threshold of an evented PLEG, which gets changes from a stream. */
  eventedPeriodMs: 300_000,
  eventedThresholdMs: 600_000,
  /** The period of the PLEG: a relist that takes longer makes the next one late. */
  relistSlowMs: 1_000,
  /** The last bound of the histogram: of what takes longer nothing more is known. */
  relistVerySlowMs: 10_000,
  callSlowMs: 2_000,
  /** The message limit of a kubelet's CRI client, and when it is near. */
  messageBytes: 16 * 1024 * 1024,
  messageNearBytes: 12 * 1024 * 1024,
  deadContainers: 1_000,
  deadSandboxes: 100,
  crashLoopPods: 10,
  /** Percent of time, as PSI has it. */
  ioFullWarning: 20,
  ioFullCritical: 50,
  memoryFullWarning: 10,
  memoryFullCritical: 40,
  cpuSomeWarning: 80,
  /** From here on what takes seconds may wait for the CPU. */
  cpuSomeBusy: 50,
  /** The same by the load, where the kernel does not measure pressure. */
  loadBusyPerCore: 2,
  /** nodefs.available and imagefs.available of the hard eviction thresholds, and what is left of all hope. */
  diskFreeShare: 0.1,
  imagesFreeShare: 0.15,
  diskLeftShare: 0.03,
  inodesFreeShare: 0.05,
  inodesLeftShare: 0.01,
  memoryFreeShare: 0.03,
  /** memory.available of the hard eviction thresholds. */
  memoryLeftBytes: 100 * 1024 * 1024,
  pidsUsedShare: 0.9,
  pidsGoneShare: 0.97,
  fsyncSlowMs: 200,
  fsyncVerySlowMs: 2_000,
  /** Calls of runc take some 30 ms, a few hundred on a busy machine. */
  ociCallSlowMs: 3_000,
  ociCallSlowPods: 3,
  ociCallLateMs: 10_000,
  ociCallVeryLateMs: 60_000,
  /** A checkpoint of a container with many GiB of memory, on a slow disk. */
  ociCopyLateMs: 600_000,
  /** Of what a daemon may use. */
  spentShare: 0.9,
  spentGoneShare: 0.97,
  /** An exec takes so many open files of its shim, with its pipes and a terminal. */
  execFiles: 8,
  /** Restarts by systemd itself; one that has run for this long since is well again. */
  unitRestarts: 3,
  unitYoungMs: 300_000,
  cpuThrottledShare: 0.25,
  cpuPeriods: 10,
  /** Of the kernel's log: what goes on says so again within minutes, what was lost stays lost for longer. */
  kernelHungRecentMs: 600_000,
  /** A lockup that goes on says so each half minute, a device that is not released each ten seconds. */
  kernelGoesOnMs: 120_000,
  kernelLostRecentMs: 3_600_000,
  zombies: 100,
  blockedTasks: 3,
  certificateLeftMs: 7 * 24 * 3_600_000,
  certificateLeftShare: 0.25,
  /** How late an event loop may be before everything that it does is. */
  eventLoopLateMs: 500,
  callInFlightMs: 10_000,
  /** Networks are mostly there within seconds. */
  sandboxLateMs: 15_000,
  /** A pod is made within seconds, but for its images. */
  podWaitsMs: 15_000,
  podWaitsLongMs: 300_000,
  /** After how long without a sandbox old errors of RunPodSandbox count, how often a kubelet tries again, and what is enough of them. */
  sandboxesFailMs: 25_000,
  sandboxRetryMs: 15_000,
  sandboxErrorsMany: 100,
  /** A single one may fail while the network restarts. */
  sandboxErrors: 3,
  /** A disk is attached and mounted within seconds; one that is made first takes longer. */
  volumeLateMs: 60_000,
  /** A pod that has its sandbox waits for its images: a registry that does not answer looks like a slow one. */
  imageLateMs: 60_000,
  /** A kubelet gives up a sandbox after four minutes, and begins again. */
  sandboxVeryLateMs: 180_000,
} as const;
