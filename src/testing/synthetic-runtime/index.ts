export {
  serveSyntheticRuntime,
  type SyntheticRuntime,
  type SyntheticRuntimeOptions,
} from './serve-synthetic-runtime.js';
export { type SpawnedSyntheticRuntime, spawnSyntheticRuntime } from './spawn-synthetic-runtime.js';
export {
  NO_FAULTS,
  type SyntheticContainer,
  type SyntheticControl,
  type SyntheticPod,
} from './synthetic-control.js';
