import { ApiError } from './api-error.js';
import { type Authorize } from './api-request.js';

/** What an operator has switched off. */
export interface ClosedPaths {
  /** Logs, commands and connections of containers: the kubelet's enableDebuggingHandlers=false. */
  readonly debugging: boolean;
  /** The node's log folder: the kubelet's enableSystemLogHandler=false. */
  readonly systemLogs: boolean;
}

const DEBUGGING = [
  /^\/(containerLogs|runningpods|logs)(\/|$)/,
  /^\/api\/v1\/namespaces\/:namespace\/pods\/:name\/(log|exec|attach|portforward)$/,
];
const SYSTEM_LOGS = /^\/logs(\/|$)/;

/** Closes paths to everybody who would be let in otherwise, in the kubelet's words. */
export function closePaths(authorize: Authorize, closed: ClosedPaths): Authorize {
  return (request, client) => {
    const refusal = authorize(request, client);
    if (refusal !== undefined) return refusal;
    const { template } = request;
    if (closed.debugging && DEBUGGING.some((pattern) => pattern.test(template))) {
      return new ApiError('MethodNotAllowed', 'Debug endpoints are disabled.');
    }
    if (closed.systemLogs && SYSTEM_LOGS.test(template)) {
      return new ApiError('MethodNotAllowed', 'logs endpoint is disabled.');
    }
    return undefined;
  };
}
