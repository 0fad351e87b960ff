import { type NodePod } from '#kube/pod/node-pod.js';
import { findTooLong } from '../../runtime/config/argument-limits.js';
import { buildContainerConfig } from '../../runtime/config/build-container-config.js';
import { type ContainerEnvironment } from '../../runtime/config/container-environment.js';
import { type ContainerMount } from '../../runtime/config/container-mount.js';
import { ANNOTATIONS, type IdRange, type PodPaths, type PodStatus } from '#watch';
import { type NodeFacts } from '../../runtime/config/node-facts.js';
import {
  type ContainerConfig,
  type RuntimeImage,
  type SandboxConfig,
} from '../../runtime/runtime-changes.js';
import { findRootUser } from '../../runtime/config/security-context.js';

import { podHash } from '../actions/container-hash.js';
import { type ContainerToStart } from '../actions/pod-actions.js';
import { makeTerminationFile } from '../sync/pod-file-setup.js';
import { type VolumeMounts } from '../sync/sync-pod-ports.js';

/** What {@link configureContainer} needs. */
export interface ConfigureContainerOptions {
  readonly volumes: Pick<VolumeMounts, 'mountsFor'>;
  readonly paths: PodPaths;
  readonly node: () => NodeFacts;
}

/** The sandbox in which containers start. */
export interface StartedSandbox {
  readonly id: string;
  readonly config: SandboxConfig;
  /** The pod's addresses, or those of the node on its network. */
  readonly ips: readonly string[];
  /** The pod's /etc/hosts on the node; undefined where the runtime's own is used. */
  readonly hostsFile: string | undefined;
  /** The ids that its users have on the node; undefined if they are the node's own. */
  readonly idRange?: IdRange | undefined;
}

/** A container to start, and what exists for it. */
export interface ContainerStart {
  readonly pod: NodePod;
  /** The view from before anything was started. */
  readonly observed: PodStatus;
  readonly sandbox: StartedSandbox;
  readonly toStart: ContainerToStart;
}

/** For the annotation io.kubernetes.container.type. */
const KINDS = { init: 'init', sidecar: 'init', regular: 'container', ephemeral: 'ephemeral' } as const;

/**
 * The configuration of a container for the runtime; creates the files and subpaths of volumes that it needs.
 *
 * Rejects in the kubelet's words when the container cannot be created here.
 */
export async function configureContainer(
  options: ConfigureContainerOptions,
  start: ContainerStart,
  images: {
    readonly imageRef: string;
    readonly image: RuntimeImage;
    /** Of its volumes, by their names in the pod. */
    readonly volumeImages: ReadonlyMap<string, string>;
  },
  environment: ContainerEnvironment,
): Promise<ContainerConfig> {
  const { pod, toStart } = start;
  const { container, kind, restartCount, hash, restartDelayMs } = toStart;
  const { imageRef, image, volumeImages } = images;
  const rootUser = findRootUser(pod, container, image);
  if (rootUser !== undefined) throw new Error(rootUser);
  const node = options.node();
  const [unseen] = node.canMount ? [] : (container.volumeMounts ?? []);
  if (unseen !== undefined) {
    // The path that it takes for its volume would be a folder of the node.
    const why = 'the runtime keeps no container apart from the node, and can mount nothing';
    throw new Error(`volume "${unseen.name}" cannot be mounted at ${unseen.mountPath}: ${why}`);
  }
  const config = buildContainerConfig(pod, container, {
    node,
    kind: KINDS[kind],
    targetId: findTargetId(start),
    restartCount,
    ...{ imageRef, volumeImages },
    imageUser: image,
    idRange: start.sandbox.idRange,
    environment,
    mounts: node.canMount ? await mountsOf(options, start, environment) : [],
    annotations: {
      [ANNOTATIONS.hash]: hash,
      [ANNOTATIONS.podHash]: podHash(pod),
      [ANNOTATIONS.image]: container.image,
      [ANNOTATIONS.restartDelayMs]: String(restartDelayMs),
    },
  });
  const tooLong = findTooLong(config, node.pageSizeBytes);
  if (tooLong !== undefined) throw new Error(tooLong);
  return config;
}

async function mountsOf(
  { volumes, paths }: ConfigureContainerOptions,
  { pod, sandbox: { hostsFile }, toStart: { container, restartCount } }: ContainerStart,
  environment: ContainerEnvironment,
): Promise<ContainerMount[]> {
  const mounts = [...(await volumes.mountsFor(pod, container, environment))];
  const isTaken = (path: string): boolean =>
    mounts.some(({ containerPath }) => containerPath.replace(/\/+$/, '') === path);
  if (hostsFile !== undefined && !isTaken('/etc/hosts')) {
    mounts.push({
      ...{ containerPath: '/etc/hosts', hostPath: hostsFile, readOnly: false },
      selinuxRelabel: true,
    });
  }
  const { terminationMessagePath = '' } = container;
  if (terminationMessagePath !== '' && !isTaken(terminationMessagePath)) {
    const hostPath = await makeTerminationFile(paths, pod.metadata.uid, container.name, restartCount);
    mounts.push({ containerPath: terminationMessagePath, hostPath, readOnly: false });
  }
  return mounts;
}

/**
 * The container whose processes an ephemeral one sees; undefined where it sees its own. Throws when that does
 * not run.
 */
function findTargetId({ pod, observed, sandbox, toStart }: ContainerStart): string | undefined {
  if (toStart.kind !== 'ephemeral') return undefined;
  const { targetContainerName: name } = pod.spec.ephemeralContainers![toStart.index]!;
  if (name === undefined) return undefined;
  const found = observed.containers.find(
    (each) => each.name === name && each.sandboxId === sandbox.id && each.state === 'running',
  );
  if (found === undefined) throw new Error(`unable to find target container ${name}`);
  return found.id;
}
