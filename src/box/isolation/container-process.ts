import { type Readable, type Writable } from 'node:stream';

/** What a command inside of a container is to be connected to. */
export interface ProcessRequest {
  readonly argv: readonly string[];
  /** A terminal of its own; its output is all on `stdout` then. */
  readonly tty: boolean;
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** Sets the size of a terminal. Late or for a terminal that is gone: nothing happens. */
export type ResizeTerminal = (columns: number, rows: number) => Promise<void>;

/** A command that runs inside of a container beside its entrypoint. */
export interface ContainerProcess {
  /** There when it was asked for. Ending it is the command's end of file. */
  readonly stdin?: Writable;
  readonly stdout?: Readable;
  readonly stderr?: Readable;
  /** There for a terminal. */
  readonly resize?: ResizeTerminal;
  /** The exit code, 128 + n after a signal. Never rejects. Output may still be on its way. */
  readonly exit: Promise<number>;
  /** Ends the command and what it has started in its session, at once. Again and too late: nothing happens. */
  kill(): void;
}

/** The input and the live output of a container's entrypoint: what Attach needs. */
export interface ContainerConsole {
  /** There when the container was made with `stdin`. Ending it is the end of the input only with `stdinOnce`. */
  readonly stdin?: Writable;
  /** What the container writes from now on. A reader that is too slow misses some, the container never waits. */
  readonly stdout: Readable;
  /** Silent for a container with a terminal. */
  readonly stderr: Readable;
  /** There for a container with a terminal. */
  readonly resize?: ResizeTerminal;
  /**
   * Resolves once the container has ended and its last output was handed out, or after `close`. Rejects, with a
   * sentence for the client, when the output cannot be read any more.
   */
  readonly ended: Promise<void>;
  /** Lets go of it; the container goes on. */
  close(): void;
}

/** What the streaming server may do to a container; refusals are RpcErrors as containerd gives them. */
export interface StreamableContainer {
  readonly id: string;
  /** As the container was made. */
  readonly tty: boolean;
  readonly stdin: boolean;
  /** Runs a command inside, with the environment, user and folder of the entrypoint. Rejects unless it is running. */
  openProcess(request: ProcessRequest): Promise<ContainerProcess>;
  /** Rejects unless it is running. */
  openConsole(): Promise<ContainerConsole>;
}
