import {
  type ContainerConsole,
  type ContainerProcess,
  type ProcessRequest,
} from '../isolation/container-process.js';

/** A terminal's size in character cells. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** What the streaming server needs of the runtime. Each rejects with a sentence when it cannot be. */
export interface StreamingPorts {
  openProcess(containerId: string, request: ProcessRequest): Promise<ContainerProcess>;
  openConsole(containerId: string): Promise<ContainerConsole>;
  /**
   * A file of /proc that leads into the network of a sandbox (`/proc/PID/ns/net`); undefined when it is the host's.
   * It is asked again for each connection, since a sandbox may have ended meanwhile.
   */
  findNetwork(sandboxId: string): Promise<string | undefined>;
}
