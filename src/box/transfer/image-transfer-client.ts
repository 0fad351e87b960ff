import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { parseSocketPath } from '#base/wire/private-socket.js';
import { UNIX_CHANNEL_OPTIONS } from '#base/wire/unix-channel-options.js';
import { RpcError } from '../rpc-error.js';
import {
  ARCHIVE_NAME,
  type Cancellable,
  IMAGE_TRANSFER,
  type LoadNews,
  PLATFORM,
  type PullNews,
  type PullRequest,
  type PullState,
} from './image-transfer.js';

/** What may be said of an archive. */
export interface ArchiveFacts {
  /** The name of its file. */
  readonly name?: string | undefined;
  readonly platform?: string | undefined;
}

/**
 * A client of the runtime in the box for what CRI has no call for. Every call rejects with the signal's reason when that
 * aborts, and else with an error whose `code` is gRPC's: UNIMPLEMENTED where another runtime answers.
 */
export class ImageTransferClient implements Disposable {
  readonly #client: Client;

  /** `endpoint` is `unix:///path`. Nothing is sent before the first call. */
  constructor(endpoint: string) {
    const path = parseSocketPath(endpoint, 'runtime endpoint');
    this.#client = new Client(`unix:${path}`, credentials.createInsecure(), UNIX_CHANNEL_OPTIONS);
  }

  /** Pulls an image: often says how far its layers are, and last which image it is. */
  pull(request: PullRequest, signal: AbortSignal): AsyncGenerator<PullNews> {
    const { path, requestSerialize, responseDeserialize } = IMAGE_TRANSFER.pull;
    const start = (): ClientReadableStream<PullNews> =>
      this.#client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
    return answersOf(start, signal);
  }

  /** Sends an archive; says how far its layers are, and each image once it is unpacked. */
  async *load(
    archive: AsyncIterable<Uint8Array>,
    { name, platform }: ArchiveFacts,
    signal: AbortSignal,
  ): AsyncGenerator<LoadNews> {
    const { path, requestSerialize, responseDeserialize } = IMAGE_TRANSFER.load;
    const metadata = new Metadata();
    // What stands in metadata is ASCII.
    if (name !== undefined && /^[\w.-]+$/.test(name)) metadata.set(ARCHIVE_NAME, name);
    if (platform !== undefined) metadata.set(PLATFORM, encodeURIComponent(platform));
    let unread: { readonly error: unknown } | undefined;
    const start = (): ClientDuplexStream<Buffer, LoadNews> => {
      const call = this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
      send(archive, call).catch((error: unknown) => {
        unread = { error };
        call.cancel();
      });
      return call;
    };
    try {
      yield* answersOf(start, signal);
    } catch (error) {
      throw unread === undefined ? error : unread.error;
    }
  }

  /** The bytes of an archive with these images. */
  save(images: readonly string[], signal: AbortSignal): AsyncGenerator<Buffer> {
    const { path, requestSerialize, responseDeserialize } = IMAGE_TRANSFER.save;
    const start = (): ClientReadableStream<Buffer> =>
      this.#client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { images });
    return answersOf(start, signal);
  }

  /** The pulls that are under way, whoever asked for them. */
  listPulls(signal: AbortSignal): Promise<readonly PullState[]> {
    const { path, requestSerialize, responseDeserialize } = IMAGE_TRANSFER.listPulls;
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        {},
        (error, answer) => {
          stop();
          if (error === null) resolve(answer!);
          else reject(signal.aborted ? (signal.reason as Error) : (toRpcError(error) as Error));
        },
      );
      const stop = cancelWith(signal, call);
    });
  }

  close(): void {
    this.#client.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

async function* answersOf<T>(start: () => ClientReadableStream<T>, signal: AbortSignal): AsyncGenerator<T> {
  signal.throwIfAborted();
  const call = start();
  const stop = cancelWith(signal, call);
  try {
    for await (const answer of call) yield answer as T;
  } catch (error) {
    signal.throwIfAborted();
    throw toRpcError(error as ServiceError);
  } finally {
    stop();
    // Where the reader has gone before the end.
    call.cancel();
  }
}

function cancelWith(signal: AbortSignal, call: Cancellable): () => void {
  const cancel = (): void => call.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}

/** At the pace of the runtime. Ends early when the call does: its own answer says why. */
async function send(
  archive: AsyncIterable<Uint8Array>,
  call: ClientDuplexStream<Buffer, LoadNews>,
): Promise<void> {
  const over = { is: false };
  let wake = (): void => undefined;
  const end = (): void => {
    over.is = true;
    wake();
  };
  for (const event of ['error', 'close', 'end', 'status']) call.on(event, end);
  call.on('drain', () => wake());
  for await (const chunk of archive) {
    if (over.is) return;
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (!call.write(bytes)) await new Promise<void>((resolve) => (over.is ? resolve() : (wake = resolve)));
  }
  if (!over.is) call.end();
}

function toRpcError(error: ServiceError): unknown {
  const { code, details } = error as Partial<ServiceError>;
  return code === undefined ? error : new RpcError(code, details ?? status[code], { cause: error });
}
