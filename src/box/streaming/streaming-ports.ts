import { type Duplex } from 'node:stream';
import {
  type ContainerConsole,
  type ContainerProcess,
  type ProcessRequest,
} from '../isolation/container-process.js';
import { type ConnectAttempt } from './sessions/connect-queue.js';

/** A terminal's size in character cells. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** What the streaming server needs of the runtime. Each rejects with a sentence when it cannot be. */
export interface StreamingPorts {
  openProcess(containerId: string, request: ProcessRequest): Promise<ContainerProcess>;
  openConsole(containerId: string): Promise<ContainerConsole>;
  /** Connects to a port of loopback inside of a sandbox; ending what comes back ends one direction only. */
  connectPort(sandboxId: string, port: number, attempt: ConnectAttempt): Promise<Duplex>;
}
