import { ApiError } from './api-error.js';
import { changesObjects } from '../access/node-access.js';
import { type Authorize } from './api-request.js';
import { type ClosedBy, findNodePath } from '../node/node-paths.js';

/**
 * What an operator has switched off.
 *
 * `debugging`: logs, commands and connections of containers, and changes of objects, like the kubelet's
 * enableDebuggingHandlers=false; `systemLogs`: the node's log folder, like its enableSystemLogHandler=false.
 */
export type ClosedPaths = Readonly<Record<ClosedBy, boolean>>;

const WORDS: readonly (readonly [ClosedBy, string])[] = [
  ['debugging', 'Debug endpoints are disabled.'],
  ['systemLogs', 'logs endpoint is disabled.'],
];
const DEBUGGING = /^\/api\/v1\/namespaces\/:namespace\/pods\/:name\/(log|exec|attach|portforward)$/;

/** Closes paths to everybody who would otherwise be admitted, with the kubelet's errors. */
export function closePaths(authorize: Authorize, closed: ClosedPaths): Authorize {
  return async (request, client) => {
    const verdict = await authorize(request, client);
    if (verdict instanceof ApiError) return verdict;
    const closedBy = switchesOf(request.method, request.template);
    const found = WORDS.find(([name]) => closed[name] && closedBy.includes(name));
    return found === undefined ? verdict : new ApiError('MethodNotAllowed', found[1]);
  };
}

function switchesOf(method: string, template: string): readonly ClosedBy[] {
  const isDebugging = DEBUGGING.test(template) || changesObjects(method, template);
  return isDebugging ? ['debugging'] : (findNodePath(template)?.closedBy ?? []);
}
