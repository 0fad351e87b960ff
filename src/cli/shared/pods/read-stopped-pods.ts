import { ApiError } from '../api/api-status.js';
import { type AgentClient } from '../api/agent-client.js';
import { type KubeObject } from '#kube/columns/kube-object.js';

/** The pods that somebody has stopped and that stay so, by namespace and name. None with an agent that has no such list. */
export async function readStoppedPods(client: AgentClient): Promise<readonly KubeObject[]> {
  try {
    const { items = [] } = await client.get('/stopped');
    return items;
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'NotFound') return [];
    throw error;
  }
}
