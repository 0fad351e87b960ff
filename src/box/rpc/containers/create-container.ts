import {
  NamespaceMode,
  type ContainerConfig,
  type CreateContainerRequest,
  type CreateContainerResponse,
} from '#watch/messages';
import { type ContainerRecord } from '../../container/container-record.js';
import { HOST, HOST_IMAGE } from '../../images/host-image.js';
import { type ImageStore } from '../../images/image-store.js';
import { isImageVolume } from '../../isolation/mounts/volumes.js';
import { resolveLogPath } from '../../container/output/log-path.js';
import { type PodRegistry } from '../../pods/pod-registry.js';
import { computeArgv } from '../../container/resolve-command.js';
import { notFound, refused, unimplemented } from '../../rpc-error.js';
import { requireId, requireImage } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI CreateContainer: records it; nothing runs yet. A refused request leaves no trace. */
export async function createContainer(
  { pods, events, images, isolation }: RpcContext,
  request: CreateContainerRequest,
): Promise<CreateContainerResponse> {
  const sandbox = pods.getSandbox(requireId('sandbox', request.podSandboxId));
  const config = assertConfig(request.config);
  if (!sandbox.takesContainers) throw notFound('running sandbox', sandbox.id);
  const { id: imageId } = images.get(requireImage(config.image));
  const image = images.configOf(imageId);
  if (computeArgv(config, image).length === 0) throw refused('no command specified');
  isolation.checkContainer(config);
  if (imageId !== HOST.id && !isolation.hasRoots) {
    throw unimplemented(`images other than ${HOST_IMAGE} need namespaces: ${isolation.notice}`);
  }
  checkTarget(pods, sandbox.id, config);
  const imageVolumes = findImageVolumes(images, config);
  const logPath = await resolveLogPath(
    request.sandboxConfig?.logDirectory ?? sandbox.config.logDirectory,
    config.logPath,
  );
  const { id } = await pods.createContainer({ sandbox, config, imageId, image, imageVolumes, logPath });
  events.publish('created', id, sandbox.id);
  return { containerId: id };
}

function assertConfig(config: ContainerConfig | undefined): ContainerConfig {
  if (config?.metadata === undefined) throw refused('container config must include metadata');
  return config;
}

/** The images that are to be mounted as volumes; throws NOT_FOUND for one that was not pulled. */
function findImageVolumes(images: ImageStore, { mounts }: ContainerConfig): ContainerRecord['imageVolumes'] {
  return mounts.flatMap((mount, at) => {
    if (!isImageVolume(mount)) return [];
    const imageId = images.get(requireImage(mount.image)).id;
    if (imageId === HOST.id) throw unimplemented(`${HOST_IMAGE} cannot be mounted as a volume`);
    return [{ at, imageId }];
  });
}

/** A container may only join the processes of one that runs in the same pod. */
function checkTarget(pods: PodRegistry, sandboxId: string, { linux }: ContainerConfig): void {
  const { pid, targetId = '' } = linux?.securityContext?.namespaceOptions ?? {};
  if (pid !== NamespaceMode.TARGET) return;
  const target = pods.getContainer(requireId('container', targetId));
  if (target.record.sandboxId !== sandboxId) {
    throw refused(`invalid target container: container "${targetId}" is not in sandbox "${sandboxId}"`);
  }
  if (!target.running) throw refused(`invalid target container: container "${targetId}" is not running`);
}
