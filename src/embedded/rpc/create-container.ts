import {
  type ContainerConfig,
  type CreateContainerRequest,
  type CreateContainerResponse,
} from '../../cri/generated/runtime/v1/cri.js';
import { resolveLogPath } from '../log-path.js';
import { notFound, refused } from '../rpc-error.js';
import { checkContainerConfig } from '../unsupported.js';
import { requireId, requireImage } from './require-id.js';
import { type RpcContext } from './rpc-context.js';

/** CRI CreateContainer: records it; nothing runs yet. A refused request leaves no trace. */
export async function createContainer(
  { pods, events, images }: RpcContext,
  request: CreateContainerRequest,
): Promise<CreateContainerResponse> {
  const sandbox = pods.getSandbox(requireId('sandbox', request.podSandboxId));
  const config = assertConfig(request.config);
  if (!sandbox.takesContainers) throw notFound('running sandbox', sandbox.id);
  const image = images.get(requireImage(config.image));
  checkContainerConfig(config);
  const logPath = await resolveLogPath(
    request.sandboxConfig?.logDirectory ?? sandbox.config.logDirectory,
    config.logPath,
  );
  const { id } = await pods.createContainer({ sandbox, config, imageId: image.id, logPath });
  events.publish('created', id, sandbox.id);
  return { containerId: id };
}

function assertConfig(config: ContainerConfig | undefined): ContainerConfig {
  if (config?.metadata === undefined) throw refused('container config must include metadata');
  if (config.command.length + config.args.length === 0) throw refused('no command specified');
  return config;
}
