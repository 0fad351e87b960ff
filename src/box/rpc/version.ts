import { type VersionRequest, type VersionResponse } from '#watch/messages';
import { EMBEDDED_RUNTIME_NAME } from '#base/channels/embedded-runtime-name.js';
import { type RpcContext } from './rpc-context.js';

/** Version of the kubelet's runtime API; has been 0.1.0 for as long as there is CRI. */
const KUBELET_API_VERSION = '0.1.0';

/** CRI Version: who this is. */
export function version({ version }: RpcContext, _request: VersionRequest): VersionResponse {
  return {
    version: KUBELET_API_VERSION,
    runtimeName: EMBEDDED_RUNTIME_NAME,
    runtimeVersion: version,
    runtimeApiVersion: 'v1',
  };
}
