/** Whether something was done: `perhaps` when it was asked for and the runtime was killed before it answered. */
export type Certainty = 'no' | 'perhaps' | 'yes';

/** What a container's program does when it is left alone. */
export type ChurnProgram = 'runsOn' | { readonly exitsWith: number };

/** What the test asked of one container, and what it was told. */
export interface ContainerHistory {
  readonly name: string;
  readonly program: ChurnProgram;
  /** Undefined while CreateContainer was asked and not answered. */
  id: string | undefined;
  started: Certainty;
  stopped: Certainty;
  removed: Certainty;
  /** How it ended, once that was seen: it may never be told otherwise again. */
  end: { readonly exitCode: number; readonly finishedAt: bigint } | undefined;
}

/** What the test asked of one pod, and what it was told. */
export interface PodHistory {
  readonly name: string;
  /** Undefined while RunPodSandbox was asked and not answered. */
  id: string | undefined;
  stopped: Certainty;
  removed: Certainty;
  readonly containers: ContainerHistory[];
}

/** Everything that was asked of a runtime that is killed again and again. */
export class ChurnHistory {
  readonly pods: PodHistory[] = [];
  #count = 0;

  /** How many pods and containers were asked for. */
  get size(): number {
    return this.#count;
  }

  addPod(): PodHistory {
    const pod: PodHistory = {
      name: `p${this.#count++}`,
      id: undefined,
      stopped: 'no',
      removed: 'no',
      containers: [],
    };
    this.pods.push(pod);
    return pod;
  }

  addContainer(pod: PodHistory, program: ChurnProgram): ContainerHistory {
    const container: ContainerHistory = {
      name: `c${this.#count++}`,
      program,
      id: undefined,
      started: 'no',
      stopped: 'no',
      removed: 'no',
      end: undefined,
    };
    pod.containers.push(container);
    return container;
  }

  /** Lets go of what was removed for certain, so that a long run does not ask after it for ever. */
  forgetRemoved(): void {
    const kept = this.pods.filter(({ removed }) => removed !== 'yes');
    this.pods.splice(0, this.pods.length, ...kept);
  }
}
