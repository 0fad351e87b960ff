export {
  serveSyntheticRuntime,
  type SyntheticRuntime,
  type SyntheticRuntimeOptions,
} from './serve-synthetic-runtime.js';
export { type SpawnedSyntheticRuntime, spawnSyntheticRuntime } from './spawn-synthetic-runtime.js';
export {
  type AddPodsOptions,
  type ContainerSelection,
  type KillOptions,
  type MadeUpEvent,
  NO_FAULTS,
  type SyntheticContainer,
  type SyntheticControl,
  type SyntheticCounters,
  type SyntheticFaults,
  type SyntheticPod,
} from './synthetic-control.js';
