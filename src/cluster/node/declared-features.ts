import { EMBEDDED_RUNTIME_NAME } from '#base/channels/embedded-runtime-name.js';

/**
 * The API server hands the WebSockets of `kubectl exec`, `attach` and `port-forward` on to the node, instead of translating
 * them to SPDY.
 *
 * Source: https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets
 */
const WEBSOCKETS = 'ExtendWebSocketsToKubelet';

/** All containers of a pod are restarted where the end of one asks for it (KEP-5532). */
const RESTART_ALL = 'RestartAllContainersOnContainerExits';

/** Whose streaming servers speak WebSocket as newer clients do: `v5.channel.k8s.io`, and `SPDY/3.1+portforward.k8s.io`. */
const SPEAK_WEBSOCKET: ReadonlySet<string> = new Set([EMBEDDED_RUNTIME_NAME]);

/**
 * What a Node reports about Kubernetes' newer features (`status.declaredFeatures`); sorted. Pure.
 *
 * A kubelet declares `ExtendWebSocketsToKubelet` on any runtime, as it translates by itself. Here a connection reaches the
 * runtime as it came: for a runtime that does not speak all of it the API server has to go on translating. A kubelet's other
 * features are about what podloop does not do: undeclared, they keep such pods and edits away.
 *
 * Source: https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/5328-node-declared-features
 */
export function declaredFeaturesOf(runtimeName: string): readonly string[] {
  return SPEAK_WEBSOCKET.has(runtimeName) ? [WEBSOCKETS, RESTART_ALL] : [RESTART_ALL];
}
