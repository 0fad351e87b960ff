import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CallHandler, type CallInterceptor, FrameRelay, type SideMode } from '#proxy/relay';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { RawHttp2Peer, RawHttp2Server } from '../clients/raw-http2-peer.js';
import { untilTrue } from '../until-true.js';

/** A relay between a client and a server whose every byte a test writes. */
export class RelayHarness implements AsyncDisposable {
  readonly folder: string;
  readonly server: RawHttp2Server;
  readonly relay: FrameRelay;
  /** Messages that the relay has logged. */
  readonly log: readonly string[];
  readonly #clients: RawHttp2Peer[] = [];

  private constructor(folder: string, server: RawHttp2Server, relay: FrameRelay, log: readonly string[]) {
    this.log = log;
    this.folder = folder;
    this.server = server;
    this.relay = relay;
  }

  static async start(
    intercept?: CallInterceptor,
    options: { readonly lingerMs?: number } = {},
  ): Promise<RelayHarness> {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-relay-'));
    const path = join(folder, 'server.sock');
    const server = await RawHttp2Server.listen(path);
    const log: string[] = [];
    const note = (message: string): void => void log.push(message);
    const relay = await FrameRelay.start({
      logger: { ...SILENT_LOGGER, warn: note, error: note },
      listen: `unix://${join(folder, 'relay.sock')}`,
      upstream: `unix://${path}`,
      ...options,
      ...(intercept === undefined ? {} : { intercept }),
    });
    return new RelayHarness(folder, server, relay, log);
  }

  get socketPath(): string {
    return join(this.folder, 'relay.sock');
  }

  /** A client, and its counterpart behind the relay. */
  async connect(): Promise<{ client: RawHttp2Peer; server: RawHttp2Peer }> {
    const client = await RawHttp2Peer.connect(this.socketPath);
    this.#clients.push(client);
    const at = this.#clients.length - 1;
    await untilTrue(() => this.server.peers.length > at);
    return { client, server: this.server.peers[at]! };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { socket } of this.#clients) socket.destroy();
    await this.relay.close();
    await this.server[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** An interceptor that gives every call the same treatment, and passes on what it takes unless `change` does otherwise. */
export function treatAll(mode: SideMode, change: Partial<CallHandler> = {}): CallInterceptor {
  return () => ({
    request: mode,
    response: mode,
    createHandler: (call) => ({
      onHeaders: (side, headers) => {
        if (mode === 'take') call[side].forwardHeaders(headers);
      },
      onMessage: (side, message) => {
        if (mode === 'take') call[side].send(message);
      },
      onEnd: (side) => {
        if (mode === 'take') call[side].end();
      },
      onReset: () => undefined,
      onClosed: () => undefined,
      ...change,
    }),
  });
}
