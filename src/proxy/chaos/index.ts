/**
 * A fault-injecting CRI proxy: latency, errors, hangs, lost and late events, in front of any runtime.
 *
 * ```ts
 * import { ChaosProxy, parseRules, readRules } from 'podloop/chaos';
 *
 * const file = 'examples/chaos/one-hung-container.yaml';
 * await using chaos = await ChaosProxy.start({
 *   upstream: 'unix:///run/containerd/containerd.sock',
 *   listen: 'unix:///tmp/podloop-chaos/cri.sock',
 *   rules: parseRules(await readRules(file), file),
 *   seed: 1,
 *   onInjection: ({ rule, method, pod }) => console.log(rule, method, pod?.name),
 * });
 * console.log(chaos.endpoint); // the same runtime, misbehaving
 * ```
 *
 * @module
 */
export { ChaosProxy, type ChaosProxyOptions } from './chaos-proxy.js';
export { type Injection, type InjectionCount } from './faults/injections.js';
export { FAULT_TYPES } from './parse-fault.js';
export { type PodName } from './pod-directory.js';
export {
  type EventKind,
  type Fault,
  type FaultPlace,
  type FaultType,
  type Rule,
  type RuleMatch,
} from './chaos-rule.js';
export { readRules } from './read-rules.js';
export { parseRules } from './rules-file.js';
export { type RulesWatchOptions, watchRules } from './rules-watch.js';
