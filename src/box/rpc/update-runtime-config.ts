import { type UpdateRuntimeConfigRequest, type UpdateRuntimeConfigResponse } from '#watch/messages';
import { type RpcContext } from './rpc-context.js';

/** CRI UpdateRuntimeConfig: taken and without effect, since pods have the host's addresses and need no range. */
export function updateRuntimeConfig(
  _context: RpcContext,
  _request: UpdateRuntimeConfigRequest,
): UpdateRuntimeConfigResponse {
  return {};
}
