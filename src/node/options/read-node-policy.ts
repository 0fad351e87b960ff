import {
  FORBIDDABLE,
  type Forbiddable,
  type NodePolicy,
  parseAllowedHostPath,
} from '#kube/node/node-policy.js';
import { messageOf } from '#base/errors/errors.js';
import { type AgentOptions } from './agent-options.js';

/** What of the options says what pods may not have. */
export type PolicyOptions = Pick<AgentOptions, 'forbid' | 'allowedHostPaths'>;

/** The node's policy; for options that {@link findPolicyProblem} finds nothing wrong with. Pure. */
export function readNodePolicy({ forbid, allowedHostPaths }: PolicyOptions): NodePolicy {
  return {
    forbid: new Set(forbid.filter(isForbiddable)),
    allowedHostPaths: allowedHostPaths.length === 0 ? undefined : allowedHostPaths.map(parseAllowedHostPath),
  };
}

/** What is wrong with the options, `--flag: what and why`; undefined when nothing is. Pure. */
export function findPolicyProblem({ forbid, allowedHostPaths }: PolicyOptions): string | undefined {
  const unknown = forbid.find((word) => !isForbiddable(word));
  if (unknown !== undefined) {
    return `--forbid: ${JSON.stringify(unknown)} is none of ${FORBIDDABLE.join(', ')}`;
  }
  try {
    for (const text of allowedHostPaths) parseAllowedHostPath(text);
    return undefined;
  } catch (error) {
    return `--allowed-host-paths: ${messageOf(error)}`;
  }
}

function isForbiddable(word: string): word is Forbiddable {
  return (FORBIDDABLE as readonly string[]).includes(word);
}
