import { WebSocket } from 'ws';

/** A client of Kubernetes' WebSocket channels for tests, which keeps everything that it gets. */
export class ChannelClient {
  readonly socket: WebSocket;
  /** What came, by channel. */
  readonly channels: string[] = [];
  /** The code with which the connection was closed. */
  readonly closed: Promise<number>;
  readonly #seen: (() => void)[] = [];
  readonly #base64: boolean;

  private constructor(url: string, protocols: string[]) {
    this.#base64 = protocols[0]?.includes('base64') === true;
    this.socket = new WebSocket(url.replace('http', 'ws'), protocols);
    this.closed = new Promise((resolve) => this.socket.on('close', (code) => resolve(code)));
    this.socket.on('error', () => undefined);
    this.socket.on('message', (message: Buffer) => {
      const [channel, text] = this.#decode(message);
      this.channels[channel] = this.text(channel) + text;
      for (const seen of this.#seen) seen();
    });
  }

  /** @param url as a grant has it. */
  static async open(url: string, ...protocols: string[]): Promise<ChannelClient> {
    const client = new ChannelClient(url, protocols);
    const { socket } = client;
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    return client;
  }

  /** What has come on that channel. */
  text(channel: number): string {
    return this.channels[channel] ?? '';
  }

  /** The error channel, read as JSON. */
  get status(): unknown {
    return JSON.parse(this.text(3)) as unknown;
  }

  send(channel: number, text: string): void {
    if (this.#base64) this.socket.send(`${channel}${Buffer.from(text).toString('base64')}`);
    else this.socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(text)]));
  }

  /** Ends channel 0, as version 5 can. */
  endInput(): void {
    this.socket.send(Buffer.of(255, 0));
  }

  /** Resolves once what came on that channel matches. */
  see(channel: number, pattern: RegExp): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (pattern.test(this.text(channel))) resolve();
      };
      this.#seen.push(look);
      look();
    });
  }

  #decode(message: Buffer): [number, string] {
    const rest = message.subarray(1);
    return this.#base64
      ? [message[0]! - 48, Buffer.from(rest.toString(), 'base64').toString()]
      : [message[0]!, rest.toString()];
  }
}
