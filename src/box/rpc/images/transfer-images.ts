import {
  type Metadata,
  type ServerDuplexStream,
  type ServerWritableStream,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { AuthConfig, ImageSpec } from '#watch/messages';
import { type Clock } from '#base/time/clock.js';
import { invalidArgument } from '../../rpc-error.js';
import { type LayerProgress } from '../../images/pulls-under-way.js';
import { parsePlatform } from '../../images/platform.js';
import {
  ARCHIVE_NAME,
  type LoadNews,
  PLATFORM,
  type PullNews,
  type PullRequest,
  type PullState,
  type SaveRequest,
} from '../../transfer/image-transfer.js';
import { sendParts, toStatus, unary } from '../adapters.js';
import { requireImage } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';
import { toPullLogin } from './pull-image.js';

/** How often a pull says how far it is. */
const NEWS_MS = 200;

/** The service beside CRI's: see ../../transfer/image-transfer.ts. */
export function imageTransferService(context: RpcContext): UntypedServiceImplementation {
  return {
    pull: (call: ServerWritableStream<PullRequest, PullNews>) =>
      stream(context, 'Pull', call, (signal) => pull(context, call.request, signal)),
    load: (call: ServerDuplexStream<Buffer, LoadNews>) =>
      stream(context, 'Load', call, (signal) => load(context, call, call.metadata, signal)),
    save: (call: ServerWritableStream<SaveRequest, Buffer>) =>
      stream(context, 'Save', call, (signal) => {
        const { images } = call.request;
        if (!Array.isArray(images) || images.length === 0) throw invalidArgument('no image is named');
        return context.images.save(images.map(String), signal);
      }),
    listPulls: unary<object, readonly PullState[]>(context, 'ListPulls', ({ images }) => images.pulls),
  };
}

/** Serves a call whose answer is a stream. The signal aborts when the caller is gone. */
function stream<T>(
  context: RpcContext,
  operation: string,
  call: ServerWritableStream<unknown, T> | ServerDuplexStream<unknown, T>,
  answer: (signal: AbortSignal) => AsyncIterable<T>,
): void {
  const caller = new AbortController();
  call.once('cancelled', () => caller.abort());
  void (async () => sendParts(call as ServerWritableStream<unknown, T>, answer(caller.signal)))().catch(
    (error: unknown) => {
      if (!call.cancelled) call.emit('error', toStatus(context, operation, error));
    },
  );
}

async function* pull(
  { images, clock }: RpcContext,
  { image, platform, username = '', password = '' }: PullRequest,
  signal: AbortSignal,
): AsyncGenerator<PullNews> {
  const wanted = requireImage(ImageSpec.fromPartial({ image }));
  const before = images.find(wanted);
  const watched = new WatchedLayers<PullNews>();
  let digest: string | undefined;
  const auth = AuthConfig.fromPartial({ username, password });
  const pulling = images.pull(wanted, signal, {
    login: toPullLogin(wanted, auth),
    ...(platform !== undefined && { platform: parsePlatform(platform) }),
    onFound: (found, meant) => {
      digest = meant;
      watched.begin(found);
    },
  });
  yield* watched.newsUntil(pulling, clock);
  const { id } = await pulling;
  yield { image: { id, digest, wasThere: before?.id === id } };
}

async function* load(
  { images, clock }: RpcContext,
  call: ServerDuplexStream<Buffer, LoadNews>,
  metadata: Metadata,
  signal: AbortSignal,
): AsyncGenerator<LoadNews> {
  const [name] = metadata.get(ARCHIVE_NAME).map(String);
  const [platform] = metadata.get(PLATFORM).map((value) => decodeURIComponent(String(value)));
  const chunks = (async function* (): AsyncGenerator<Buffer> {
    // The answers go on when the archive is over.
    for await (const chunk of call.iterator({ destroyOnReturn: false })) yield chunk as Buffer;
  })();
  const watched = new WatchedLayers<LoadNews>();
  const loading = images.load(chunks, signal, {
    name,
    ...(platform !== undefined && { platform: parsePlatform(platform) }),
    onFound: (found) => watched.begin(found),
    onImage: ({ id }, names) => watched.end({ image: { id, names } }),
  });
  yield* watched.newsUntil(loading, clock);
  await loading;
}

interface LayerNews {
  readonly layers: readonly LayerProgress[];
}

/** How far the layers of an image are, and those of the next one. */
class WatchedLayers<News> {
  #progress: () => readonly LayerProgress[] = () => [];
  readonly #news: (LayerNews | News)[] = [];

  /** What is there at the beginning is news even where all is over at once. */
  begin(progress: () => readonly LayerProgress[]): void {
    this.#progress = progress;
    this.#news.push({ layers: progress() });
  }

  /** The last state of the layers comes before what is said of the whole image, and none comes after it. */
  end(news: News): void {
    this.#news.push({ layers: this.#progress() }, news);
    this.#progress = () => [];
  }

  /** States, now and then and at the end, until the work settles; nothing as long as nothing changes. */
  async *newsUntil(work: Promise<unknown>, clock: Clock): AsyncGenerator<LayerNews | News> {
    const over = { is: false };
    const end = (): void => void (over.is = true);
    const settled = work.then(end, end);
    let last = JSON.stringify({ layers: [] });
    do {
      const rest = new AbortController();
      await Promise.race([settled, clock.sleep(NEWS_MS, rest.signal).catch(() => undefined)]);
      rest.abort();
      for (const news of [...this.#news.splice(0), { layers: this.#progress() }]) {
        const text = JSON.stringify(news);
        if (text !== last) yield news;
        last = text;
      }
    } while (!over.is);
  }
}
