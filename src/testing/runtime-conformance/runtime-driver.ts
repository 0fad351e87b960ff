import { type Runtime } from '../../watch/observed/runtime.js';

/** A pod that a conformance case wants. */
export interface PodToMake {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A container that a conformance case wants. */
export interface ContainerToMake {
  readonly pod: PodToMake;
  readonly sandboxId: string;
  readonly name: string;
  readonly attempt: number;
  /** A program that runs until it is killed, or one that ends by itself as soon as it has started. */
  readonly program: 'runsOn' | { readonly exitsWith: number };
}

/**
 * The hand of the conformance suite on the runtime under test: it makes and ends what the runtime is then asked
 * about. Each method resolves when the runtime has done it, and rejects when it could not.
 */
export interface RuntimeDriver {
  /** What is under test. */
  readonly runtime: Runtime;
  /** Whether a pod gets an address; false for a runtime whose pods are on the host's network. */
  readonly podsHaveAddresses: boolean;
  /** Runs a sandbox that carries the kubelet's labels besides the ones given; its id. */
  runSandbox(pod: PodToMake): Promise<string>;
  /** Creates a container that carries the kubelet's labels, and does not start it; its id. Rejects when the name is taken. */
  createContainer(container: ContainerToMake): Promise<string>;
  /** Rejects unless it was only created, in a pod that runs. */
  startContainer(id: string): Promise<void>;
  /** Ends its process with SIGKILL. What has none any more is left as it is. */
  killContainer(id: string): Promise<void>;
  /** Kills it first when it runs. One that is gone already is no error; the same holds for sandboxes below. */
  removeContainer(id: string): Promise<void>;
  /** Stops the sandbox and kills every container in it. */
  stopSandbox(id: string): Promise<void>;
  /** Removes a stopped sandbox and every container in it. */
  removeSandbox(id: string): Promise<void>;
  /** Lets a little time go by: what a case waits for is asked again after it. */
  pause(): Promise<void>;
}
