import {
  findHostPathConflict,
  FORBIDDABLE,
  type Forbiddable,
  type NodePolicy,
  parseAllowedHostPath,
} from '#kube/node/node-policy.js';
import { messageOf } from '#base/errors/errors.js';
import { type AgentOptions } from './agent-options.js';

/** The options that restrict pods. */
export type PolicyOptions = Pick<AgentOptions, 'forbid' | 'allowedHostPaths'>;

/** Builds the node's policy from options that {@link findPolicyProblem} has accepted. Pure. */
export function readNodePolicy({ forbid, allowedHostPaths }: PolicyOptions): NodePolicy {
  return {
    forbid: new Set(forbid.filter(isForbiddable)),
    allowedHostPaths: allowedHostPaths.length === 0 ? undefined : allowedHostPaths.map(parseAllowedHostPath),
  };
}

/** Returns the first problem of the options as `--flag: what and why`, or undefined. Pure. */
export function findPolicyProblem({ forbid, allowedHostPaths }: PolicyOptions): string | undefined {
  const unknown = forbid.find((word) => !isForbiddable(word));
  if (unknown !== undefined) {
    return `--forbid: ${JSON.stringify(unknown)} is none of ${FORBIDDABLE.join(', ')}`;
  }
  try {
    const conflict = findHostPathConflict(allowedHostPaths.map(parseAllowedHostPath));
    return conflict && `--allowed-host-paths: ${conflict}`;
  } catch (error) {
    return `--allowed-host-paths: ${messageOf(error)}`;
  }
}

function isForbiddable(word: string): word is Forbiddable {
  return (FORBIDDABLE as readonly string[]).includes(word);
}
