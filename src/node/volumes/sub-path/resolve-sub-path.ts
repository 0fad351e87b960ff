import { type VolumeMount } from '#kube/container/container.js';
import { type ContainerEnvironment, expandVariables } from '../../runtime/config/container-environment.js';

/** The variables of a container, as it gets them. */
export type ContainerVariables = Pick<ContainerEnvironment, 'find'>;

/**
 * The subpath of a volume that a mount shows, with the container's variables expanded; undefined for the
 * whole volume. Pure.
 *
 * Throws in the kubelet's words when a variable has no value, or when the result leads out of the volume.
 *
 * Source: https://kubernetes.io/docs/concepts/storage/volumes/#using-subpath-expanded-environment
 */
export function resolveSubPath(
  { subPath, subPathExpr }: Pick<VolumeMount, 'subPath' | 'subPathExpr'>,
  variables: ContainerVariables,
): string | undefined {
  const path = subPathExpr === undefined ? subPath : expand(subPathExpr, variables);
  if (path === undefined || path === '') return undefined;
  if (path.startsWith('/')) throw new Error(`error SubPath \`${path}\` must not be an absolute path`);
  if (path.includes('\0')) throw new Error('unable to provision SubPath: it holds a NUL byte');
  if (path.split('/').includes('..')) {
    throw new Error(`unable to provision SubPath \`${path}\`: must not contain '..'`);
  }
  return path;
}

function expand(text: string, variables: ContainerVariables): string {
  const missing = new Set<string>();
  const expanded = expandVariables(text, (name) => {
    const value = variables.find(name) ?? '';
    if (value === '') missing.add(name);
    return value;
  });
  if (missing.size > 0) throw new Error(`missing value for ${[...missing].sort().join(', ')}`);
  return expanded;
}
