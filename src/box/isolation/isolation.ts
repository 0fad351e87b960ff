import { type ContainerConfig, type PodSandboxConfig } from '#watch/messages';
import { type ContainerRecord } from '../container/container-record.js';
import { type ContainerRoot } from '../images/container-roots.js';
import { type ProcessIdentity } from '../process/child-identity.js';
import { type ContainerUser } from './container-user.js';
import { type IsolationKind } from './isolation-kind.js';
import { type ContainerCommand } from '../container/supervisor-script.js';

/** A sandbox as its isolation sees it. */
export interface IsolatedSandbox {
  readonly id: string;
  /** The sandbox's folder. */
  readonly dir: string;
  readonly config: PodSandboxConfig;
  /** Undefined where sandboxes have no process. */
  readonly holder: ProcessIdentity | undefined;
}

/** A container that is about to be started. */
export interface LaunchRequest {
  readonly record: ContainerRecord;
  /** The container's folder. */
  readonly dir: string;
  readonly sandbox: IsolatedSandbox;
  readonly command: ContainerCommand;
  readonly root: ContainerRoot;
  /** Where the files of image volumes are, by the mount's place in the request. */
  readonly imageFolders: ReadonlyMap<number, string>;
  /** Files into which its first process writes `0`. */
  readonly joinFiles: readonly string[];
  /** Where the one tree of cgroups of version 2 is mounted that it joins; undefined on a machine with version 1. */
  readonly unifiedCgroups: string | undefined;
  readonly oomScoreAdj: string;
  /** The entrypoint of a container of the same sandbox; undefined unless it runs. */
  readonly findMain: (containerId: string) => ProcessIdentity | undefined;
}

/** A command line to be spawned on the host. */
export interface HostCommand {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDir: string;
}

/** What a command in a running container is to be. */
export interface EnterRequest {
  readonly dir: string;
  readonly command: ContainerCommand;
  readonly main: ProcessIdentity;
  readonly argv: readonly string[];
  readonly tty: boolean;
}

/** The walls between containers. */
export interface Isolation {
  readonly kind: IsolationKind;
  /** What the log at start and Status report: what is isolated, and what is not. */
  readonly notice: string;
  /** Whether containers may come from images with files of their own. */
  readonly hasRoots: boolean;
  /** Whether such a sandbox gets a network of its own. */
  ownsNetwork(config: PodSandboxConfig): boolean;
  /** Rejects when something is asked for that cannot be. */
  checkSandbox(config: PodSandboxConfig): Promise<void>;
  /** Rejects when something is asked for that cannot be. */
  checkContainer(config: ContainerConfig): Promise<void>;
  /** As whom a container is to run; throws when that cannot be. */
  resolveUser(config: ContainerConfig, imageUser: string, root: ContainerRoot): Promise<ContainerUser>;
  /** Makes what a sandbox needs beside its record. Undefined where it has no process of its own. Leaves nothing when it rejects. */
  startSandbox(sandbox: Omit<IsolatedSandbox, 'holder'>): Promise<ProcessIdentity | undefined>;
  /** Undoes it, whatever is there of it, in this boot. Idempotent. */
  endSandbox(sandbox: Omit<IsolatedSandbox, 'holder'>): Promise<void>;
  /** Undoes what belongs to none of these sandboxes and is in no sandbox's folder. */
  pruneSandboxes(live: ReadonlySet<string>): Promise<void>;
  /** Writes what the supervisor runs, `command`, into the container's folder. Rejects with what cannot be. */
  prepareStart(request: LaunchRequest): Promise<void>;
  /** Why a command cannot be executed in a container, in the words of a runtime that tried. */
  findCommandFault(request: EnterRequest): Promise<string | undefined>;
  /** How a command gets into a running container. */
  enter(request: EnterRequest): HostCommand;
  /** Whether the kernel kills everything of a container together with its entrypoint. */
  endsWithMain(config: ContainerConfig): boolean;
}
