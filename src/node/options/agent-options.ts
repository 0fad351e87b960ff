import { CLUSTER_OPTIONS, type ClusterOptions } from './cluster-options.js';
import { IMAGE_AND_LOG_OPTIONS, type ImageAndLogOptions } from './image-and-log-options.js';
import { JOURNAL_OPTIONS, type JournalOptions } from './journal-options.js';
import { MACHINE_OPTIONS, type MachineOptions } from './machine-options.js';
import { NODE_OPTIONS, type NodeOptions } from './node-options.js';
import { type OptionsTable } from './options-table.js';
import { POD_OPTIONS, type PodOptions } from './pod-options.js';
import { PRESSURE_OPTIONS, type PressureOptions } from './pressure-options.js';
import { RESERVE_OPTIONS, type ReserveOptions } from './reserve-options.js';
import { SERVER_OPTIONS, type ServerOptions } from './server-options.js';
import { SHUTDOWN_OPTIONS, type ShutdownOptions } from './shutdown-options.js';

/** The options of a node agent; {@link AGENT_OPTIONS} explains each. */
export interface AgentOptions
  extends
    NodeOptions,
    ClusterOptions,
    PodOptions,
    ReserveOptions,
    MachineOptions,
    PressureOptions,
    ShutdownOptions,
    ImageAndLogOptions,
    JournalOptions,
    ServerOptions {
  readonly adopt: boolean;
  readonly stopPods: boolean;
  readonly exitWhenDone: boolean;
}

/** Every option of the node agent: its default, its flag and its field in a file. A flag overrides the file. */
export const AGENT_OPTIONS: OptionsTable<AgentOptions> = {
  ...NODE_OPTIONS,
  ...CLUSTER_OPTIONS,
  ...POD_OPTIONS,
  ...RESERVE_OPTIONS,
  ...MACHINE_OPTIONS,
  ...PRESSURE_OPTIONS,
  ...SHUTDOWN_OPTIONS,
  ...IMAGE_AND_LOG_OPTIONS,
  ...JOURNAL_OPTIONS,
  ...SERVER_OPTIONS,
  adopt: {
    type: 'switch',
    default: false,
    flag: '--adopt',
    group: 'Pods and manifests',
    doc: 'Take over pods that a kubelet left, without a restart: those with the namespace and name of a manifest, and in a cluster those of this node',
  },
  stopPods: {
    type: 'switch',
    default: false,
    flag: '--stop-pods',
    group: 'Common flags',
    doc: 'Stop and remove all pods of the agent before it exits, instead of leaving them running',
  },
  exitWhenDone: {
    type: 'switch',
    default: false,
    flag: '--exit-when-done',
    group: 'Common flags',
    doc: 'Exit when every pod has ended: with 0 if all succeeded, else with 1',
  },
};
