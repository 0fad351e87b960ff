import { ApiError } from './api-error.js';
import { type ApiAnswer, type ApiRequest } from './api-request.js';
import { eventLine } from '../objects/pod-watch.js';
import { readWhole } from './read-number.js';
import { type Clock } from '#base/time/clock.js';
import { linkAbort } from '#base/async/linked-abort.js';

/** Limits simultaneous watches or followed logs, as each holds a connection for any time. */
export class WatchPlaces {
  readonly clock: Clock;
  readonly #limit: number;
  readonly #what: string;
  #taken = 0;

  /** `what` is limited, in words. */
  constructor(options: { readonly clock: Clock; readonly limit: number; readonly what?: string }) {
    this.clock = options.clock;
    this.#limit = options.limit;
    this.#what = options.what ?? 'watches';
  }

  get taken(): number {
    return this.#taken;
  }

  /** Takes a place until the returned function is called; throws TooManyRequests when there is none. */
  take(): () => void {
    if (this.#taken >= this.#limit) {
      throw new ApiError('TooManyRequests', `there are ${this.#limit} ${this.#what} already`, {
        retryAfterSeconds: 5,
      });
    }
    this.#taken++;
    let isTaken = true;
    return () => {
      if (isTaken) this.#taken--;
      isTaken = false;
    };
  }
}

/** The answer to a watch: lines until the client goes, the server closes, or `timeoutSeconds` are up. */
export function watchAnswer(
  { query, signal }: ApiRequest,
  places: WatchPlaces,
  begin: (signal: AbortSignal) => AsyncIterable<string>,
): ApiAnswer {
  const timeoutSeconds = readWhole(query, 'timeoutSeconds');
  return { kind: 'stream', contentType: 'application/json', pieces: lines() };

  async function* lines(): AsyncGenerator<string, void, undefined> {
    const leave = places.take();
    const ending = linkAbort(signal);
    const timer =
      timeoutSeconds === undefined || timeoutSeconds === 0
        ? undefined
        : places.clock.setTimer(timeoutSeconds * 1_000, () => ending.abort(), { unref: true });
    try {
      // The headers show the client that it watches; the first change may be hours away.
      yield '';
      yield* begin(ending.signal);
    } catch (error) {
      // The answer has begun with 200, so an error has to be an event.
      if (!(error instanceof ApiError)) throw error;
      yield eventLine('ERROR', JSON.stringify(error.toStatus()));
    } finally {
      timer?.cancel();
      ending.unlink();
      leave();
    }
  }
}
