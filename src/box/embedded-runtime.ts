/**
 * A CRI runtime of our own: a gRPC server at a unix socket that runs pods as processes of this host.
 *
 * In: CRI v1 calls. Out: processes under supervisors of their own, logs in the format of CRI, events. On the disk,
 * below the root folder, stands everything that is needed to take up again what a killed runtime has left.
 *
 * ```
 * rpc/*  ──►  pod-registry ──► sandbox, container ──► supervisor (a shell) ──► isolation/ ──► the container
 *   ▲              │                   │  ▲                    │
 *   │              ▼                   │  └── container-watch ─┤  run.N, pid, exit
 * gRPC ◄── event-hub ◄── pod-events ◄──┘                       └► spools ──► container-log ──► the log
 * ```
 *
 * It assumes Linux with /proc, a POSIX shell and util-linux. What isolation there is, and what not, is said in Status
 * and in docs/reference/embedded-runtime.md. The wall to the agent is gRPC: neither knows the other's code.
 *
 * @module
 */
import { DisposalStack } from '#base/async/disposal-stack.js';
import { resolve } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { ImageServiceService, PodSandboxState, RuntimeServiceService } from '#watch/messages';
import { type Clock, type ClockTimer, SystemClock } from '#base/time/clock.js';
import { aboutFolder, PodloopError } from '#base/errors/errors.js';
import { type FolderLock, lockFolder, RUNTIME_ROOT_LOCK } from '#base/fs/folder-lock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { listenPrivately, parseSocketPath, type PrivateSocket } from '#base/wire/private-socket.js';
import { makeContext, type PartChoices } from './make-context.js';
import { removeOne } from './rpc/containers.js';
import { removePodSandbox } from './rpc/sandboxes.js';
import { type RpcContext } from './rpc/rpc-context.js';
import { imageTransferService } from './rpc/images/transfer-images.js';
import { IMAGE_TRANSFER } from './transfer/image-transfer.js';
import { imageService, runtimeService } from './rpc/cri-services.js';

/** What {@link EmbeddedRuntime.start} takes. */
export interface EmbeddedRuntimeOptions extends PartChoices {
  /** Where to listen: `unix:///absolute/path.sock` or the bare path. */
  readonly listen: string;
  /** Folder for records and spools; made when it is missing. One runtime at a time may have it. */
  readonly rootDir: string;
  /** Where images are found: OCI image layouts, as folders or tars. See docs/reference/images.md. */
  readonly imageDirs?: readonly string[];
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** How often the facts are looked at although nothing was announced. */
const SCAN_PERIOD_MS = 5_000;
/** How long calls in flight may go on when the server ends. */
const LAST_CALLS_MS = 2_000;
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** A running CRI server; see the module's description. */
export class EmbeddedRuntime implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #server: Server;
  readonly #socket: PrivateSocket;
  readonly #lock: FolderLock;
  readonly #context: RpcContext;
  /** What outlives the server: the pods, their network and images, and the lock. */
  readonly #ends: DisposalStack;
  #timer: ClockTimer | undefined;
  #scanning: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  private constructor(parts: {
    clock: Clock;
    server: Server;
    socket: PrivateSocket;
    lock: FolderLock;
    context: RpcContext;
    ends: DisposalStack;
  }) {
    this.#clock = parts.clock;
    this.#server = parts.server;
    this.#socket = parts.socket;
    this.#lock = parts.lock;
    this.#context = parts.context;
    this.#ends = parts.ends;
    this.#planScan();
  }

  /**
   * Takes up what an earlier runtime has left below the root, and listens. Rejects with RUNTIME_ROOT_IN_USE,
   * ENDPOINT_IN_USE, PLATFORM_UNSUPPORTED or OPTION_INVALID.
   */
  static async start(options: EmbeddedRuntimeOptions): Promise<EmbeddedRuntime> {
    if (process.platform !== 'linux') {
      throw new PodloopError(
        'PLATFORM_UNSUPPORTED',
        `the embedded runtime needs Linux, this is ${process.platform}`,
      );
    }
    const { clock = new SystemClock(), logger = SILENT_LOGGER } = options;
    const rootDir = resolve(options.rootDir);
    parseSocketPath(options.listen, 'listen');
    const explain = (error: unknown): unknown => aboutFolder(error, 'root folder', rootDir);
    const lock = await lockFolder(rootDir, RUNTIME_ROOT_LOCK, { clock }).catch((error: unknown) => {
      throw explain(error);
    });
    await using made = new DisposalStack();
    made.defer(() => lock.release());
    await using streams = new DisposalStack();
    try {
      const imageDirs = (options.imageDirs ?? []).map((folder) => resolve(folder));
      const context = await makeContext({ ...options, rootDir, imageDirs, clock, logger });
      const { images, network, pods, connector, streaming } = context;
      for (const part of [images, network, pods]) made.defer(() => part.close());
      for (const part of [connector, streaming]) streams.defer(() => part.close());
      await context.pods.load();
      await context.images.restore(context.pods.findRootOwners());
      const server = new Server({
        'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
        'grpc.max_send_message_length': -1,
      });
      server.addService(RuntimeServiceService, runtimeService(context));
      server.addService(ImageServiceService, imageService(context));
      server.addService(IMAGE_TRANSFER, imageTransferService(context));
      const socket = await listenAt(server, options.listen);
      streams.move();
      return new EmbeddedRuntime({ clock, server, socket, lock, context, ends: made.move() });
    } catch (error) {
      throw explain(error);
    }
  }

  /** Where it listens, as clients write it: `unix:///path`. */
  get endpoint(): string {
    return this.#socket.endpoint;
  }

  /** What isolates containers, and what does not, in a sentence. */
  get isolationNotice(): string {
    return this.#context.isolation.notice;
  }

  /** What network pods have, in a sentence; empty when there is nothing to say. */
  get networkNotice(): string {
    const { isolation, network } = this.#context;
    return isolation.kind === 'namespaces' ? network.status().message : '';
  }

  /** How many sandboxes there are, ready or not. */
  get podCount(): number {
    return this.#context.pods.sandboxes.length;
  }

  /** Whether something of a pod lives: a sandbox that is ready, or a container that runs. What has ended is on the disk. */
  get hasLivePods(): boolean {
    const { sandboxes, containers } = this.#context.pods;
    return (
      sandboxes.some(({ state }) => state === PodSandboxState.SANDBOX_READY) ||
      containers.some(({ running }) => running)
    );
  }

  /** Ends all pods as their stop signals ask, kills what is left after `graceMs`, and removes them. */
  async removeAllPods(graceMs = 2_000): Promise<void> {
    const { pods } = this.#context;
    await Promise.all(pods.containers.map((container) => container.stop(container.stopSignal, graceMs)));
    for (const { id } of pods.sandboxes) await removePodSandbox(this.#context, { podSandboxId: id });
    // Those whose sandbox's record was lost.
    for (const container of pods.containers) await removeOne(this.#context, container);
  }

  /** Ends the server; containers go on, and the next runtime with this root takes them up. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await using ends = new DisposalStack();
    ends.use(this.#ends);
    this.#timer?.cancel();
    await this.#lock.announceRelease();
    await this.#socket.remove();
    this.#context.hub.close();
    await this.#context.streaming.close();
    await this.#context.connector.close();
    await this.#shutDownServer();
    await this.#scanning;
  }

  #shutDownServer(): Promise<void> {
    return new Promise((resolve) => {
      const limit = this.#clock.setTimer(LAST_CALLS_MS, () => this.#server.forceShutdown());
      this.#server.tryShutdown(() => {
        limit.cancel();
        resolve();
      });
    });
  }

  #planScan(): void {
    this.#timer = this.#clock.setTimer(
      SCAN_PERIOD_MS,
      () => {
        const { pods, logger } = this.#context;
        this.#scanning = pods.scan().catch((error: unknown) => logger.error('Scan failed', error));
        void this.#scanning.then(() => {
          if (this.#closing === undefined) this.#planScan();
        });
      },
      { unref: true },
    );
  }
}

/** Lets a gRPC server listen at a unix socket that only its owner may open; see {@link listenPrivately}. */
function listenAt(server: Server, listen: string): Promise<PrivateSocket> {
  return listenPrivately(
    listen,
    (path) =>
      new Promise((resolve, reject) => {
        server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => {
          if (error === null) resolve();
          else reject(error);
        });
      }),
  );
}
