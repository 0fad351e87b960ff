import { type OptionsTable } from './options-table.js';

/** What an agent is told of the ports at which it answers. */
export interface ServerOptions {
  readonly enableServer: boolean;
  readonly address: string;
  /** Undefined: {@link DEFAULT_READ_ONLY_PORT}, if it is free. 0 for none. */
  readonly readOnlyPort: number | undefined;
  readonly healthzPort: number;
  readonly healthzBindAddress: string;
}

/** The kubelet's. */
export const DEFAULT_READ_ONLY_PORT = 10_255;

/** The rows of {@link ServerOptions}. */
export const SERVER_OPTIONS: OptionsTable<ServerOptions> = {
  enableServer: {
    type: 'switch',
    default: true,
    flag: '--enable-server',
    field: 'enableServer',
    fromConfig: (config) => config.enableServer,
    doc: 'Answer at ports; with false only at the socket',
  },
  address: {
    type: 'text',
    default: '127.0.0.1',
    flag: '--address',
    field: 'address',
    fromConfig: (config) => config.address,
    doc: 'Address at which the agent answers at ports; 0.0.0.0 or :: for all of the machine’s',
  },
  readOnlyPort: {
    type: 'port',
    default: undefined,
    flag: '--read-only-port',
    field: 'readOnlyPort',
    fromConfig: (config) => config.readOnlyPort,
    doc: 'Port of health and metrics for anybody, 0 for none; 10255 unless told, as soon as nobody else has it',
  },
  healthzPort: {
    type: 'port',
    default: 0,
    flag: '--healthz-port',
    field: 'healthzPort',
    fromConfig: (config) => config.healthzPort,
    doc: 'Port of health alone, 0 for none; the kubelet’s is 10248',
  },
  healthzBindAddress: {
    type: 'text',
    default: '127.0.0.1',
    flag: '--healthz-bind-address',
    field: 'healthzBindAddress',
    fromConfig: (config) => config.healthzBindAddress,
    doc: 'Address of --healthz-port',
  },
};
