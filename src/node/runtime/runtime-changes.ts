/**
 * Everything with which the agent changes a container runtime and its images.
 *
 * In: configurations from build-sandbox-config.ts and build-container-config.ts. Out: ids. It assumes that
 * the runtime may hang or lose an answer in the middle of a change. So the caller never cancels a change that
 * was sent, and one with an unknown outcome is read back before it is tried again.
 *
 * @module
 */
import { type cri } from '#watch';
import { type PodRef } from '#kube/pod/pod-ref.js';

/** The desired sandbox: CRI's own message. */
export type SandboxConfig = cri.PodSandboxConfig;

/** The desired container: CRI's own message. */
export type ContainerConfig = cri.ContainerConfig;

/** CRI's limits of a container. */
export type ContainerResources = cri.LinuxContainerResources;

/** What every change takes besides its object. */
export interface ChangeOptions {
  /**
   * Aborts what was not started: a change that still waits for its turn rejects with the signal's reason.
   *
   * A change that was sent continues and settles before the promise does. Only the wait for a stop, a command
   * or a pull ends at once, and the call itself runs to its end.
   */
  readonly signal?: AbortSignal | undefined;
  /** The pod that it concerns, for messages and for the record of calls in flight. */
  readonly pod?: PodRef | undefined;
  /** Nobody waits for this removal: changes with a visible effect go first. */
  readonly canWait?: boolean | undefined;
}

/** What a pull takes besides the image. */
export interface PullOptions extends ChangeOptions {
  readonly sandboxConfig?: SandboxConfig;
  /** The credentials for the registry. */
  readonly login?: { readonly username: string; readonly password: string };
}

/** What a command in a container takes besides itself. */
export interface CommandOptions extends ChangeOptions {
  /** Nobody needs its outcome: it may be cut off when the agent ends. */
  readonly mayBeCut?: boolean | undefined;
  /**
   * Called when the command is given up while the runtime may still run it.
   *
   * Returns a function to call when the runtime answers after all.
   */
  readonly onLeftOpen?: (() => () => void) | undefined;
}

/** The result of a command in a container. */
export interface ExecResult {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly exitCode: number;
}

/** An image that the runtime has. */
export interface RuntimeImage {
  readonly id: string;
  readonly tags: readonly string[];
  readonly digests: readonly string[];
  readonly sizeBytes: bigint;
  /** Must not be removed: the runtime needs it itself. */
  readonly pinned: boolean;
  /** The user of its entrypoint if the image gives a number; otherwise undefined. */
  readonly uid: bigint | undefined;
  /** The user of its entrypoint if the image gives a name; otherwise empty. */
  readonly username: string;
}

/**
 * Everything that changes a runtime.
 *
 * Changes have a limit of their own: stops go first and have their own slots, so have commands, and no read
 * ever waits here. Stop and remove are idempotent: what is gone counts as done. Rejects with a PodloopError
 * as the CRI client does.
 */
export interface RuntimeChanges {
  /**
   * Creates a sandbox and returns its id; uses an existing sandbox of the same attempt whose creation was
   * never answered.
   */
  runPodSandbox(
    config: SandboxConfig,
    options?: ChangeOptions & { readonly runtimeHandler?: string },
  ): Promise<string>;
  /**
   * The addresses of a sandbox, the primary one first: later steps may need them. A read: it never waits
   * here.
   */
  getSandboxIps(sandboxId: string, options?: ChangeOptions): Promise<readonly string[]>;
  stopPodSandbox(sandboxId: string, options?: ChangeOptions): Promise<void>;
  removePodSandbox(sandboxId: string, options?: ChangeOptions): Promise<void>;
  /** Creates a container and returns its id; uses an existing one of the same attempt, as for a sandbox. */
  createContainer(
    sandboxId: string,
    config: ContainerConfig,
    sandboxConfig: SandboxConfig,
    options?: ChangeOptions,
  ): Promise<string>;
  /** Starts a container; one that was started before counts as done, even if it has ended since. */
  startContainer(containerId: string, options?: ChangeOptions): Promise<void>;
  /** Resolves when the container has ended: by its stop signal, or killed after that many seconds. */
  stopContainer(containerId: string, graceSeconds: number, options?: ChangeOptions): Promise<void>;
  removeContainer(containerId: string, options?: ChangeOptions): Promise<void>;
  updateContainerResources(
    containerId: string,
    resources: ContainerResources,
    options?: ChangeOptions,
  ): Promise<void>;
  /** Makes a container write to a new file at the path of its log, after the old one was moved away. */
  reopenContainerLog(containerId: string, options?: ChangeOptions): Promise<void>;
  /**
   * Runs a command in a container; after `timeoutSeconds` (0: never) it is killed and this rejects.
   *
   * If only the command stays unanswered after that, this rejects with COMMAND_UNANSWERED; see {@link
   * runAnsweredCommand}.
   */
  execSync(
    containerId: string,
    command: readonly string[],
    timeoutSeconds: number,
    options?: CommandOptions,
  ): Promise<ExecResult>;
  /** Pulls an image and returns its resolved reference. It has no limit here: the puller has one. */
  pullImage(image: string, options?: PullOptions): Promise<string>;
  /** The image of that name, digest or id, if the runtime has it. */
  findImage(image: string, options?: ChangeOptions): Promise<RuntimeImage | undefined>;
  listImages(signal?: AbortSignal): Promise<readonly RuntimeImage[]>;
  removeImage(image: string, options?: ChangeOptions): Promise<void>;
}
