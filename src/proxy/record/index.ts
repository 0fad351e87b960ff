/**
 * Recordings of a node's CRI traffic: taken in front of any runtime, without secrets, and replayed as a runtime.
 *
 * ```ts
 * import { RecordProxy, ReplayServer } from 'podloop/record';
 *
 * const file = '/tmp/podloop-record/node.plrec';
 * const recorder = await RecordProxy.start({
 *   upstream: 'unix:///run/containerd/containerd.sock',
 *   listen: 'unix:///tmp/podloop-record/cri.sock',
 *   file,
 * });
 * console.log(recorder.endpoint); // the same runtime; what passes there is in the file
 * await recorder.close();
 *
 * await using replay = await ReplayServer.start({ file, listen: 'unix:///tmp/podloop-record/replay.sock', speed: 10 });
 * console.log(replay.endpoint); // the node as it was
 * ```
 *
 * @module
 */
export { type CallEnding, CallRecording, type CallRecordingOptions } from './call-recording.js';
export { DEFAULT_MAX_BYTES, RecordProxy, type RecordProxyOptions } from './record-proxy.js';
export { type RecordCounts } from './recorder.js';
export { KEPT_ANNOTATIONS, type RedactionRules } from './redaction/redaction-rules.js';
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
export { type RecordedPod } from './recorded-pods.js';
export { readRecordingEvents, type RecordingEvent, type RecordingEvents } from './recording-events.js';
export { type CallSummary, type RecordingSummary, summarizeRecording } from './recording-summary.js';
export { type AtEnd } from './replay/replay-clock.js';
export { ReplayServer, type ReplayServerOptions } from './replay/replay-server.js';
