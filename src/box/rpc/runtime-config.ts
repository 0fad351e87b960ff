import { CgroupDriver, type RuntimeConfigRequest, type RuntimeConfigResponse } from '#watch/messages';
import { type RpcContext } from './rpc-context.js';

/** CRI RuntimeConfig: which driver an agent should use. Groups are made here without asking systemd. */
export function runtimeConfig(_context: RpcContext, _request: RuntimeConfigRequest): RuntimeConfigResponse {
  return { linux: { cgroupDriver: CgroupDriver.CGROUPFS } };
}
