import { type Readable, type Writable } from 'node:stream';

/** A terminal's size in character cells. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** Which command is to run in a container, and which of its streams somebody wants. */
export interface ProcessRequest {
  readonly argv: readonly string[];
  /** One terminal for all streams: what goes to stderr comes out of stdout. */
  readonly tty: boolean;
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** A command that runs in a container. */
export interface ContainerProcess {
  /** Its `end()` is the command's end of file. */
  readonly stdin?: Writable | undefined;
  readonly stdout?: Readable | undefined;
  readonly stderr?: Readable | undefined;
  /** Of its terminal, if it has one; never throws. */
  resize?(size: TerminalSize): void;
  /** Its exit code, 128 + n after a signal. */
  readonly exit: Promise<number>;
  /** Ends it and what it has started, at once. Does nothing when it has ended. */
  kill(): void;
}

/** The live streams of a running container, from now on. */
export interface ContainerConsole {
  /** Of a container that was made with `stdin`; what its `end()` means is the matter of `stdin_once`. */
  readonly stdin?: Writable | undefined;
  readonly stdout?: Readable | undefined;
  readonly stderr?: Readable | undefined;
  /** Of its terminal, if it has one; never throws. */
  resize?(size: TerminalSize): void;
  /** Resolves when the container has ended. */
  readonly ended: Promise<unknown>;
  /** Lets go of the container, which goes on. */
  close(): void;
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
