import { ApiError } from '../http/api-error.js';
import { type ApiRequest } from '../http/api-request.js';
import { type PodRow } from '../objects/pod-table.js';
import { type ServedPod } from '../objects/served-pod.js';

/** Finds the pod that a kubelet's path names; throws NotFound in a kubelet's words, of which each path has its own. */
export type FindKubeletPod = (request: Pick<ApiRequest, 'params'>, ifMissing?: string) => ServedPod;

/**
 * Finds pods by namespace and name, and where a path has a UID only the one that has it: another pod of that name, which
 * came later, is not the one that was meant.
 */
export function kubeletPodFinder(findPod: (request: Pick<ApiRequest, 'params'>) => PodRow): FindKubeletPod {
  return (request, ifMissing = 'pod does not exist') => {
    const served = find(findPod, request, ifMissing);
    const { uid } = request.params;
    if (uid !== undefined && uid !== served.pod.metadata.uid) {
      throw new ApiError('NotFound', 'pod not found');
    }
    return served;
  };
}

function find(
  findPod: (request: Pick<ApiRequest, 'params'>) => PodRow,
  request: Pick<ApiRequest, 'params'>,
  ifMissing: string,
): ServedPod {
  try {
    return findPod(request).served;
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'NotFound') {
      throw new ApiError('NotFound', ifMissing);
    }
    throw error;
  }
}
