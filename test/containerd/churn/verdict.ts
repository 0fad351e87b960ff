/** One thing that is wrong, and everything known about it. */
export interface Failure {
  readonly problem: string;
  /** Undefined where it is of no pod. */
  readonly podUid: string | undefined;
  readonly story: string;
}

/** How often things were seen. */
export interface Counts {
  containers: number;
  settled: number;
  early: number;
  /** Created, and never started: containerd was killed under the call, or the pod ended first. */
  neverStarted: number;
  sandboxes: number;
  diedWithCode: number;
  /** Of the class that is removed at once: died, and the status was gone. */
  earlyDiedWithoutCode: number;
  /** Lives that fell between two looks: no event at all. */
  betweenLooksSettled: number;
  betweenLooksEarly: number;
  /** Started and ended between two looks: no ContainerStarted. */
  startBetweenLooks: number;
  /** containerd itself lost how the container ended (255), or could not start it (128). */
  codeLostByRuntime: number;
  /** containerd was killed while it started the container, and never knew that it ran. */
  forgottenByRuntime: number;
  /** containerd, restarted, took it for running for more than 3 s after the end that it told of then. */
  shownLateByRuntime: number;
  /** Creations that were cut off by containerd's death. */
  createsCutOff: number;
  folded: number;
}

/** What the judge finds. */
export interface Verdict {
  readonly failures: readonly Failure[];
  readonly counts: Counts;
  /** From the runtime's own time of the end to the event, milliseconds, ascending; outages left out. */
  readonly deathLatenciesMs: readonly number[];
}

/** Where counting starts. */
export function noCounts(): Counts {
  return {
    containers: 0,
    settled: 0,
    early: 0,
    neverStarted: 0,
    sandboxes: 0,
    diedWithCode: 0,
    earlyDiedWithoutCode: 0,
    betweenLooksSettled: 0,
    betweenLooksEarly: 0,
    startBetweenLooks: 0,
    codeLostByRuntime: 0,
    forgottenByRuntime: 0,
    shownLateByRuntime: 0,
    createsCutOff: 0,
    folded: 0,
  };
}
