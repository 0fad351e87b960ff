import {
  type LinuxContainerResources,
  type UpdateContainerResourcesRequest,
  type UpdateContainerResourcesResponse,
} from '#watch/messages';
import { type Container } from '../../container/container.js';
import { unimplemented } from '../../rpc-error.js';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/**
 * CRI UpdateContainerResources: changes the limits of a container that is created or runs, all or none. What is not
 * set in the request stays as it is. The limits then hold for its next start, too, and ContainerStatus shows them.
 */
export async function updateContainerResources(
  context: RpcContext,
  { containerId, linux }: UpdateContainerResourcesRequest,
): Promise<UpdateContainerResourcesResponse> {
  const container = context.pods.getContainer(requireId('container', containerId));
  if (linux !== undefined) {
    await container.updateResources(linux, (resources) => apply(context, container, resources));
  }
  return {};
}

async function apply(
  { cgroups }: RpcContext,
  container: Container,
  resources: LinuxContainerResources,
): Promise<void> {
  const cgroup = cgroups.findContainer(container.record.sandboxId, container.id);
  if (cgroup.exists) await cgroup.update(resources);
  else if (container.running || !cgroups.usable) {
    throw unimplemented('the container has no cgroup: its limits cannot be changed');
  } else cgroups.check(resources);
}
