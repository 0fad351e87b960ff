import { describe, expect, it } from 'vitest';
import { type Flight, SingleFlight } from './single-flight.js';

function defer<T>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve: (value: T) => resolve(value) };
}

const NEVER = new AbortController().signal;

describe('a single flight', () => {
  it('does the work once for all who ask meanwhile, and anew for those who come later', async () => {
    const flights = new SingleFlight<number>();
    const gate = defer<number>();
    let runs = 0;
    const work = () => {
      runs++;
      return gate.promise;
    };
    const asked = [flights.run('a', work, NEVER), flights.run('a', work, NEVER)];
    gate.resolve(7);
    expect(await Promise.all(asked)).toEqual([7, 7]);
    await flights.run('a', work, NEVER);
    expect(runs).toBe(2);
  });

  it('keeps different keys apart', async () => {
    const flights = new SingleFlight<string>();
    const ask = (key: string) => flights.run(key, () => Promise.resolve(key), NEVER);
    const both = Promise.all([ask('a'), ask('b')]);
    expect([flights.has('a'), flights.has('c')]).toEqual([true, false]);
    expect(await both).toEqual(['a', 'b']);
    expect(flights.has('a')).toBe(false);
  });

  it('lets all who wait see the error, and tries again for the next', async () => {
    const flights = new SingleFlight<string>();
    const fail = () => Promise.reject(new Error('broken'));
    const results = await Promise.allSettled([flights.run('a', fail, NEVER), flights.run('a', fail, NEVER)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await flights.run('a', () => Promise.resolve('fine'), NEVER)).toBe('fine');
  });

  it('stops the work when the last one leaves, not before', async () => {
    const flights = new SingleFlight<string>();
    const [first, second] = [new AbortController(), new AbortController()];
    let stop: AbortSignal | undefined;
    const work = ({ signal }: Flight) => {
      stop = signal;
      return new Promise<string>((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')));
      });
    };
    const asked = [flights.run('a', work, first.signal), flights.run('a', work, second.signal)];
    const settled = Promise.allSettled(asked);
    await Promise.resolve();
    first.abort(new Error('one left'));
    await expect(asked[0]).rejects.toThrow('one left');
    expect(stop?.aborted).toBe(false);
    second.abort(new Error('two left'));
    await settled;
    expect(stop?.aborted).toBe(true);
  });

  it('makes who comes while the work is being stopped wait for its end, then begins anew', async () => {
    const flights = new SingleFlight<string>();
    const leaving = new AbortController();
    const ending = defer<string>();
    const first = flights.run('a', () => ending.promise, leaving.signal);
    leaving.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    let begun = false;
    const second = flights.run(
      'a',
      () => {
        begun = true;
        return Promise.resolve('new');
      },
      NEVER,
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toBe(false);
    ending.resolve('old');
    expect(await second).toBe('new');
  });

  it('goes on with work that asks for it when all have left, and gives it to who comes next', async () => {
    const flights = new SingleFlight<string>();
    const leaving = new AbortController();
    const ending = defer<string>();
    const signals: AbortSignal[] = [];
    const work = ({ signal, keepGoing }: Flight) => {
      signals.push(signal);
      keepGoing();
      return ending.promise;
    };
    const first = flights.run('a', work, leaving.signal);
    await Promise.resolve();
    leaving.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    const second = flights.run('a', work);
    ending.resolve('done');
    expect([await second, signals.map(({ aborted }) => aborted)]).toEqual(['done', [false]]);
  });

  it('begins nothing for who has left already', async () => {
    const flights = new SingleFlight<string>();
    const work = () => Promise.resolve('x');
    await expect(flights.run('a', work, AbortSignal.abort(new Error('left')))).rejects.toThrow('left');
  });
});
