/**
 * What an agent and an observer have in common when they report on themselves: metrics, and health in the log.
 *
 * @module
 */
export { addEventGeneratorMetrics } from './metrics/event-generator-metrics.js';
export { addEventLoopMetrics } from './metrics/event-loop-metrics.js';
export { addHttpServerMetrics } from './metrics/http-server-metrics.js';
export { addJournalMetrics } from './metrics/journal-metrics.js';
export { addLogMetrics, type LogState } from './metrics/log-metrics.js';
export { addNodeMetrics } from './metrics/node-metrics.js';
export { addProcessMetrics } from './metrics/process-metrics.js';
export { addRelistMetrics } from './metrics/relist-metrics.js';
export { addRuntimeOperationMetrics } from './metrics/runtime-operation-metrics.js';
export { MetricsRegistry } from './registry/metrics-registry.js';
