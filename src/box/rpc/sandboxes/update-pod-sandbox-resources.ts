import {
  type UpdatePodSandboxResourcesRequest,
  type UpdatePodSandboxResourcesResponse,
} from '#watch/messages';
import { refused } from '../../rpc-error.js';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/**
 * CRI UpdatePodSandboxResources: takes note of a pod's own resources, after the agent has changed the cgroup parent.
 *
 * Its CPU weight is applied to the pod's group. Its limits are not: what agents send is the sum over those
 * containers that have a limit, and the parent already holds it.
 */
export async function updatePodSandboxResources(
  { pods, cgroups }: RpcContext,
  { podSandboxId, overhead, resources }: UpdatePodSandboxResourcesRequest,
): Promise<UpdatePodSandboxResourcesResponse> {
  const sandbox = pods.getSandbox(requireId('sandbox', podSandboxId));
  for (const each of [overhead, resources]) if (each !== undefined) cgroups.check(each);
  await sandbox.lifecycle.run(async () => {
    if (pods.findSandbox(sandbox.id) !== sandbox) throw refused(`sandbox "${sandbox.id}" is being removed`);
    await sandbox.setResources({ overhead, resources });
    await cgroups.updatePod(sandbox.id, sandbox.config);
  });
  return {};
}
