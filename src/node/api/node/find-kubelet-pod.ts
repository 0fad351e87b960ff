import { ApiError } from '../http/api-error.js';
import { type ApiRequest } from '../http/api-request.js';
import { type PodRow } from '../objects/pod-table.js';
import { type ServedPod } from '../objects/served-pod.js';

/** Finds the pod in a kubelet's path; throws NotFound in a kubelet's words, which differ by path. */
export type FindKubeletPod = (request: Pick<ApiRequest, 'params'>, ifMissing?: string) => ServedPod;

/**
 * Finds pods by namespace and name, and also by UID if a path has one.
 *
 * A later pod of the same name is not the one that was meant.
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
