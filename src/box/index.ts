/**
 * The runtime in the box: a CRI v1 server that runs pods as processes of this host.
 *
 * ```ts
 * import { EmbeddedRuntime } from 'podloop/embedded';
 *
 * await using runtime = await EmbeddedRuntime.start({
 *   listen: 'unix:///tmp/podloop/cri.sock',
 *   rootDir: '/tmp/podloop/root',
 * });
 * console.log(runtime.endpoint); // any CRI client can talk to it
 * ```
 *
 * @module
 */
export { EmbeddedRuntime, type EmbeddedRuntimeOptions } from './embedded-runtime.js';
export { waitForAgentEnd, type AgentWatchOptions } from './agent-watch.js';
export { waitForProcessEnd, type ProcessWatchOptions } from './parent-watch.js';
export { closeInheritedDescriptors } from './container/close-inherited.js';
export { ImageTransferClient } from './transfer/image-transfer-client.js';
export { type LayerState, type LoadNews, type PullNews } from './transfer/image-transfer.js';
export { RpcError } from './rpc-error.js';
