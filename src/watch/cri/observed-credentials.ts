import { type Socket } from 'node:net';

import { ChannelCredentials, credentials } from '@grpc/grpc-js';

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;
type ConnectorArguments = Parameters<ChannelCredentials['_createSecureConnector']>;

/**
 * Insecure credentials that expose the socket of each connection of their channel.
 *
 * gRPC's own interface neither shows how many bytes a connection has moved nor lets a caller end just that
 * one. Its credentials are the one place where the bare socket passes through the caller's code.
 */
export class ObservedCredentials extends ChannelCredentials {
  readonly #inner = credentials.createInsecure();
  readonly #onSocket: (socket: Socket) => void;

  constructor(options: { readonly onSocket: (socket: Socket) => void }) {
    super();
    this.#onSocket = options.onSocket;
  }

  override _isSecure(): boolean {
    return false;
  }

  override _equals(other: ChannelCredentials): boolean {
    return other === this;
  }

  override _createSecureConnector(...args: ConnectorArguments): SecureConnector {
    const inner = this.#inner._createSecureConnector(...args);
    return {
      connect: (socket) => {
        this.#onSocket(socket);
        return inner.connect(socket);
      },
      waitForReady: () => inner.waitForReady(),
      getCallCredentials: () => inner.getCallCredentials(),
      destroy: () => inner.destroy(),
    };
  }
}
