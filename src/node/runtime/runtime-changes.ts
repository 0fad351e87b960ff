/**
 * What the agent does to a container runtime: everything that changes it, and the images.
 *
 * In: configurations as build-sandbox-config.ts and build-container-config.ts make them. Out: ids. It assumes that
 * the runtime may hang or lose an answer in the middle of a change. What covers it: a change that was sent is never
 * given up by its caller, and one whose outcome is unknown is read back before the same is tried again.
 *
 * @module
 */
import { type cri } from '#watch';
import { type PodRef } from '#kube/pod/pod-ref.js';

/** A sandbox as it is to be: CRI's own message. */
export type SandboxConfig = cri.PodSandboxConfig;

/** A container as it is to be: CRI's own message. */
export type ContainerConfig = cri.ContainerConfig;

/** CRI's limits of a container. */
export type ContainerResources = cri.LinuxContainerResources;

/** What every change takes besides its object. */
export interface ChangeOptions {
  /**
   * Start nothing any more: a change that still waits for its turn rejects with the signal's reason. One that was sent
   * goes on and settles before the promise does; only a wait for a stop, a command or a pull ends at once, and the
   * call itself goes on to its end.
   */
  readonly signal?: AbortSignal | undefined;
  /** The pod it is about, for messages and for the record of calls in flight. */
  readonly pod?: PodRef | undefined;
  /** Nobody waits for what comes of a removal: changes that make something go before it. */
  readonly canWait?: boolean | undefined;
}

/** What a pull takes besides the image. */
export interface PullOptions extends ChangeOptions {
  readonly sandboxConfig?: SandboxConfig;
  /** Who to be at the registry. */
  readonly login?: { readonly username: string; readonly password: string };
}

/** What a command in a container takes besides itself. */
export interface CommandOptions extends ChangeOptions {
  /** Nobody needs its outcome: it may be cut off when the agent ends. */
  readonly mayBeCut?: boolean | undefined;
  /** It is given up while the runtime may still run it. Gives what to call when the runtime answers after all. */
  readonly onLeftOpen?: (() => () => void) | undefined;
}

/** What a command in a container left behind. */
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
  /** Not to be removed: the runtime needs it itself. */
  readonly pinned: boolean;
  /** The user of its entrypoint where the image names a number; undefined else. */
  readonly uid: bigint | undefined;
  /** The user of its entrypoint where the image names one; empty else. */
  readonly username: string;
}

/**
 * Everything that changes a runtime. Changes have a bound of their own: stops go first and have slots of their own,
 * commands have theirs, and no read ever waits here.
 *
 * Stop and remove are idempotent: what is gone counts as done. Rejects with a PodloopError as the CRI client does.
 */
export interface RuntimeChanges {
  /**
   * Makes a sandbox and gives its id. When the same attempt of the same pod was made before and nobody heard of it,
   * it is taken up.
   */
  runPodSandbox(
    config: SandboxConfig,
    options?: ChangeOptions & { readonly runtimeHandler?: string },
  ): Promise<string>;
  /** The addresses of a sandbox, the primary one first: what is built on it may need them. A read: it never waits here. */
  getSandboxIps(sandboxId: string, options?: ChangeOptions): Promise<readonly string[]>;
  stopPodSandbox(sandboxId: string, options?: ChangeOptions): Promise<void>;
  removePodSandbox(sandboxId: string, options?: ChangeOptions): Promise<void>;
  /** Makes a container and gives its id. The same attempt is taken up, as a sandbox is. */
  createContainer(
    sandboxId: string,
    config: ContainerConfig,
    sandboxConfig: SandboxConfig,
    options?: ChangeOptions,
  ): Promise<string>;
  /** Starts a container; one that was started before counts as done, also when it has ended since. */
  startContainer(containerId: string, options?: ChangeOptions): Promise<void>;
  /** Resolves when the container has ended: by its stop signal, or killed after that many seconds. */
  stopContainer(containerId: string, graceSeconds: number, options?: ChangeOptions): Promise<void>;
  removeContainer(containerId: string, options?: ChangeOptions): Promise<void>;
  updateContainerResources(
    containerId: string,
    resources: ContainerResources,
    options?: ChangeOptions,
  ): Promise<void>;
  /** Lets a container write to a new file at the path of its log, after somebody moved the old one away. */
  reopenContainerLog(containerId: string, options?: ChangeOptions): Promise<void>;
  /**
   * Runs a command in a container; after `timeoutSeconds` (0: never) it is killed and this rejects. Where a command
   * alone stays unanswered after that, this rejects with COMMAND_UNANSWERED; see {@link runAnsweredCommand}.
   */
  execSync(
    containerId: string,
    command: readonly string[],
    timeoutSeconds: number,
    options?: CommandOptions,
  ): Promise<ExecResult>;
  /** Fetches an image and gives its reference as resolved. Has no bound here: whoever pulls has. */
  pullImage(image: string, options?: PullOptions): Promise<string>;
  /** The image of that name, digest or id, if the runtime has it. */
  findImage(image: string, options?: ChangeOptions): Promise<RuntimeImage | undefined>;
  listImages(signal?: AbortSignal): Promise<readonly RuntimeImage[]>;
  removeImage(image: string, options?: ChangeOptions): Promise<void>;
}
