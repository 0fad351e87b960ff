/**
 * Recordings of a node's CRI traffic: taken in front of any runtime, without secrets.
 *
 * ```ts
 * import { RecordProxy } from 'podloop/record';
 *
 * await using recorder = await RecordProxy.start({
 *   upstream: 'unix:///run/containerd/containerd.sock',
 *   listen: 'unix:///tmp/podloop-record/cri.sock',
 *   file: '/tmp/podloop-record/node.plrec',
 * });
 * console.log(recorder.endpoint); // the same runtime; what passes there is in the file
 * console.log(recorder.counts.calls);
 * ```
 *
 * @module
 */
export { DEFAULT_MAX_BYTES, RecordProxy, type RecordProxyOptions } from './record-proxy.js';
export { type RecordCounts } from './recorder.js';
export { KEPT_ANNOTATIONS, type RedactionRules } from './redaction-rules.js';
export { RecordingFile } from './recording-file.js';
export { type RecordedFrame } from './recorded-frame.js';
export { type RecordedMethod } from './recorded-method.js';
export {
  type BeginFrame,
  type CloseFrame,
  type EndFrame,
  type LostFrame,
  type MessageFrame,
  type MetaFrame,
} from './recording-format.js';
